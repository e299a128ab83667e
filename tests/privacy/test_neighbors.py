"""Neighbors: two relations, each with a name and a sentence of its own."""

from dpquantiles.privacy import Neighbors


def test_names_and_sentences() -> None:
    assert [str(relation) for relation in Neighbors] == ["swap", "add-remove"]
    assert "number of records is public" in Neighbors.SWAP.sentence()
    assert "number of records is protected" in Neighbors.ADD_REMOVE.sentence()


def test_sentences_name_units_and_groups() -> None:
    assert Neighbors.ADD_REMOVE.sentence("person") == (
        "all records of one person added or removed; "
        "the number of distinct values of person is protected too"
    )
    assert Neighbors.SWAP.sentence(within=("county", "year")) == (
        "one record replaced by any other of the same county and year; "
        "the number of records per county and year is public"
    )
