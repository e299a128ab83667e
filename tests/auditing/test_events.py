"""Ways to look: what shares a label, and that only the reference outputs decide."""

import numpy as np
import pytest

from dpquantiles.auditing.events import Failed, caught, last_bits, looks


def labels(outputs: list[object], name: str, reference: list[bool] | None = None) -> list[int]:
    marked = np.array([True] * len(outputs) if reference is None else reference)
    found = {look.name: look.labels for look in looks(outputs, marked)}
    return [int(label) for label in found[name]]


def test_equal_outputs_share_a_label() -> None:
    whole = labels(["a", "b", "a", (1, "a"), Failed("ValueError"), Failed("ValueError")], WHOLE)
    assert whole[0] == whole[2]
    assert whole[4] == whole[5]
    assert len(set(whole)) == 4


WHOLE = "the whole output"


def test_numbers_are_placed_among_the_reference() -> None:
    outputs: list[object] = [float(x) for x in range(100)]
    reference = [x < 50 for x in range(100)]
    places = labels(outputs, "where the number lies", reference)
    assert places == sorted(places)
    assert len(set(places[50:])) == 1
    assert len(set(places[:50])) > 40


def test_what_is_no_number_has_a_place_of_its_own() -> None:
    places = labels([1.0, float("nan"), 2.0, float("inf")], "where the number lies")
    assert places.count(places[1]) == 1


@pytest.mark.parametrize("outputs", [["a", 1.0], [(1.0,), (1.0, 2.0)], [(), ()], [10**400, 1]])
def test_other_outputs_are_looked_at_as_a_whole_only(outputs: list[object]) -> None:
    assert [look.name for look in looks(outputs, np.ones(2, dtype=bool))] == [WHOLE]


def test_arrays_tuples_and_dictionaries_are_taken_apart() -> None:
    for output in (np.array([[1.0], [2.0]]), ((1.0,), [2.0]), (1.0, (2.0,))):
        names = [look.name for look in looks([output, output], np.ones(2, dtype=bool))]
        assert "where number 2 lies" in names
        assert "where all numbers lie" in names
    assert len(set(labels([{"a": 1}, {"a": 2}], WHOLE))) == 2


def test_the_last_bit_is_the_lowest_that_is_set() -> None:
    numbers = [0.5, 0.75, 1.0, 3.0, 0.0, -0.125, 5e-324, 0.1, float("nan"), float("inf"), 2.0**60]
    assert last_bits(np.array(numbers)).tolist() == [-1, -2, 0, 0, 0, -3, -1074, -55, 0, 0, 0]


def test_an_error_is_an_output() -> None:
    assert caught(lambda x: 1 / x, 0) == Failed("ZeroDivisionError")
    assert caught(lambda x: 1 / x, 2) == 0.5
