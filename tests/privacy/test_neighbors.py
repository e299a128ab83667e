"""Neighbors: two relations, each with a name and a sentence of its own."""

from dpquantiles.privacy import Neighbors


def test_names_and_sentences() -> None:
    assert [str(relation) for relation in Neighbors] == ["swap", "add-remove"]
    assert "number of records is public" in Neighbors.SWAP.sentence
    assert "number of records is protected" in Neighbors.ADD_REMOVE.sentence
