"""Columns: any one-dimensional data becomes one array, and stays as it was."""

import array
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from dpquantiles.kinds import INTEGER, REAL, Kind, as_array, column

RECORDS = [3, 1, 2]

CONTAINERS: list[Callable[[], Iterable[Any]]] = [
    lambda: list(RECORDS),
    lambda: tuple(RECORDS),
    lambda: (record for record in RECORDS),
    lambda: iter(RECORDS),
    lambda: map(int, RECORDS),
    lambda: deque(RECORDS),
    lambda: dict.fromkeys(RECORDS).keys(),
    lambda: np.array(RECORDS),
    lambda: np.array(RECORDS, dtype=object),
    lambda: np.array(RECORDS, dtype=">i2"),
    lambda: np.array([3, 0, 1, 0, 2, 0])[::2],
    lambda: np.array(RECORDS[::-1])[::-1],
    lambda: np.array([RECORDS, RECORDS]).T[:, 0],
    lambda: np.ma.masked_array(RECORDS),
    lambda: array.array("h", RECORDS),
    lambda: memoryview(array.array("q", RECORDS)),
    lambda: memoryview(array.array("q", [3, 0, 1, 0, 2, 0]))[::2],
]


@pytest.mark.parametrize("kind", [INTEGER, REAL])
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_of_every_make(container: Callable[[], Iterable[Any]], kind: Kind) -> None:
    numbers, missing = column(kind, container())
    assert missing is None
    assert numbers.tolist() == RECORDS


def test_declared_types_are_kept() -> None:
    assert as_array(array.array("d")).dtype == np.float64
    assert as_array(memoryview(b"ab")).dtype == np.uint8
    assert as_array([1, 2]).dtype == object
    assert as_array(range(3)).tolist() == [0, 1, 2]


def test_nested_lists_are_records_not_dimensions() -> None:
    assert as_array([[1, 2], [3, 4]]).shape == (2,)
    assert as_array([np.zeros(3), np.zeros(3)]).shape == (2,)


@pytest.mark.parametrize("shape", [(), (2, 2), (0, 0), (1, 1, 1)])
def test_dimensions_other_than_one_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=rf"^data must be one column, got {len(shape)} dimensions$"
    ):
        as_array(np.zeros(shape))


def test_masked_records_are_missing() -> None:
    values = np.ma.masked_array([1.5, np.nan, 2.5, np.inf], [True, False, False, False])
    numbers, missing = column(REAL, values)
    assert missing is not None
    assert missing.tolist() == [True, True, False, False]
    assert numbers[2:].tolist() == [2.5, np.inf]
    objects = np.ma.masked_array(np.array([1, "a", 3], dtype=object), [True, False, False])
    assert column(INTEGER, objects).missing.tolist() == [True, True, False]  # type: ignore[union-attr]
    assert column(INTEGER, np.ma.masked_array([1, 2], [False, False])).missing is None


@pytest.mark.parametrize("dtype", ["f8", "i8", "?", ">f4", "object", "f2"])
def test_data_are_never_modified(dtype: str) -> None:
    values = np.array([3, 1, 0, 2], dtype=dtype)
    values.flags.writeable = False
    before = values.tobytes()
    for kind in (REAL, INTEGER):
        column(kind, values)
        column(kind, np.ma.masked_array(values, [True, False, False, True]))
    assert values.tobytes() == before
