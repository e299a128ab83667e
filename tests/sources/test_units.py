"""Rows per unit: at most k, fairly chosen, each unit by itself, on every engine."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from dpquantiles.sources import units
from dpquantiles.sources.keys import MARK, KeyColumns, coded
from dpquantiles.sources.tables import Table, open_table

ENGINES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
    "polars lazy": lambda columns: pl.LazyFrame(columns),
}
UNITS: list[Any] = ["u", "v", "u", None, "w", "u", None, "v", None, "x"]
VALUES = list(range(10))


def rows(table: Table) -> list[Any]:
    frame = table.frame.collect() if table.lazy else table.frame
    return frame.rows()  # type: ignore[no-any-return]


def kept(
    engine: str, k: int, seed: int, names: list[Any] = UNITS, values: list[Any] = VALUES
) -> list[int]:
    table = open_table(ENGINES[engine]({"unit": names, "value": values}))
    bounded = units.bound_rows(table, "unit", k, ("value",), random.Random(seed))
    assert bounded.names == ("value",)
    return sorted(value for (value,) in rows(bounded))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_at_most_k_rows_are_kept(engine: str, k: int) -> None:
    found = Counter(UNITS[value] for value in kept(engine, k, seed=k))
    assert found == {name: min(k, count) for name, count in Counter(UNITS).items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "names",
    [
        [1, 2, 1, None, 0, 1, None, 2, None, 3],
        [1.5, 2.0, 1.5, None, 0.0, 1.5, None, 2.0, None, 7.0],
    ],
)
def test_units_may_be_numbers(engine: str, names: list[Any]) -> None:
    found = kept(engine, 1, seed=3, names=names)
    assert len(found) == 5
    assert len({names[value] for value in found}) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_tables_stay_empty(engine: str) -> None:
    table = open_table(ENGINES[engine]({"unit": UNITS, "value": VALUES}))
    import narwhals.stable.v2 as nw

    empty = Table(table.frame.filter(nw.col("value") < 0))
    assert rows(units.bound_rows(empty, "unit", 1, ("value",), random.Random(1))) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_chosen_fairly(engine: str) -> None:
    """A thousand units with the same values: no value is preferred, and seeds repeat."""
    names = [f"unit {i}" for i in range(1000) for _ in range(4)]
    values = list(range(4)) * 1000
    found = kept(engine, 1, seed=5, names=names, values=values)
    assert len(found) == 1000
    assert stats.chisquare([found.count(value) for value in range(4)]).pvalue > 1e-3
    assert kept(engine, 1, seed=5, names=names, values=values) == found
    assert kept(engine, 1, seed=6, names=names, values=values) != found


def test_kept_rows_depend_on_their_own_unit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one unit, whatever it held, the others keep the rows that they kept."""
    numbers = np.random.default_rng(4).integers(0, 2**62, len(VALUES)).astype(np.uint64)
    present = np.ones(len(VALUES), dtype=bool)
    monkeypatch.setattr(units, "words", lambda _bits, _count: numbers[present])
    for engine in ENGINES:
        present[:] = True
        before = kept(engine, 1, seed=1)
        for name in set(UNITS):
            present[:] = [unit != name for unit in UNITS]
            names = [unit for unit in UNITS if unit != name]
            values = [v for v in VALUES if UNITS[v] != name]
            after = kept(engine, 1, seed=1, names=names, values=values)
            assert after == [value for value in before if UNITS[value] != name]


def test_identical_rows_of_a_lazy_table_are_interchangeable() -> None:
    """Several scans of one bounded table see the same rows."""
    table = open_table(pl.LazyFrame({"unit": ["u"] * 6, "value": [1, 1, 2, 2, 3, 3]}))
    bounded = units.bound_rows(table, "unit", 3, ("value",), random.Random(2))
    assert len({tuple(sorted(rows(bounded))) for _ in range(5)}) == 1


BYTES = [b"a", b"\xff\xfe", b"a", None]
NAMELESS: dict[str, Callable[[], Any]] = {
    "dictionary of bytes": lambda: pa.array(BYTES).dictionary_encode(),
    "dictionary of large bytes": lambda: pa.array(BYTES, pa.large_binary()).dictionary_encode(),
    "dictionary of few bytes": lambda: pa.array([b"a", b"\xff"], pa.binary(1)).dictionary_encode(),
    "view of text": lambda: pa.array(["a"], pa.string_view()),
}


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
@pytest.mark.parametrize("case", NAMELESS)
@pytest.mark.parametrize("parameter", ["unit", "by"])
def test_bytes_are_no_names_by_the_schema_alone(case: str, library: str, parameter: str) -> None:
    column, require = (
        NAMELESS[case](),
        {"unit": units.require_units, "by": KeyColumns.of}[parameter],
    )
    for records in (column, column[:0]):
        data = pa.table({"name": records, "value": range(len(records))})
        data = data if library == "pyarrow" else data.to_pandas(types_mapper=pd.ArrowDtype)
        with pytest.raises(
            TypeError, match=rf"^{parameter} must name .* of type (Binary|Unknown);"
        ):
            require(open_table(data), "name")


def test_dictionaries_name_units_by_their_values() -> None:
    """Whatever the dictionary holds: a value twice, none at all, or another one in every chunk."""
    index = pa.array([0, 1, 2, 3, None, 2, 3], pa.int32())
    column = pa.DictionaryArray.from_arrays(index, pa.array(["a", "a", "", None]))
    chunks = pa.chunked_array([column, pa.array(["", "b"]).dictionary_encode()])
    data = pa.table({"unit": chunks, "value": range(9)})
    for table in (data, data.to_pandas(types_mapper=pd.ArrowDtype)):
        for seed in range(5):
            bounded = units.bound_rows(
                open_table(table), "unit", 1, ("value",), random.Random(seed)
            )
            found = {value for (value,) in rows(bounded)}
            assert [len(found & unit) for unit in ({0, 1}, {2, 5, 7}, {3, 4, 6}, {8})] == [1] * 4


def test_categories_of_any_type_are_keys() -> None:
    """Bytes, and text that UTF-8 cannot write, are groups like others and never raise."""
    cells = pd.Categorical([b"\xff", "a", "\ud800", 7, None, "a"])
    frame = open_table(pd.DataFrame({"g": cells})).frame.filter(~nw.col("g").is_null())
    found = coded(Table(frame), {"g": "str"})["g"].to_list()
    assert found == [r"b'\xff'", "a", f"{MARK}#eda080", "7", "a"]


@pytest.mark.parametrize("rows", [1, 2, 5, 8, 9, 40])
@pytest.mark.parametrize("highest", [2**64, 3])
def test_the_least_numbers_of_each_unit_are_those_of_a_sort(rows: int, highest: int) -> None:
    """Equal numbers as well, of which the first ones count."""
    rng = np.random.default_rng(rows)
    codes = rng.integers(0, 30, 500)
    numbers = rng.integers(0, highest, 500, dtype=np.uint64)
    kept = units.least_of_each(codes, numbers, rows)
    for code in range(30):
        own = np.flatnonzero(codes == code)
        least = own[np.argsort(numbers[own], kind="stable")][:rows]
        assert set(np.flatnonzero(kept & (codes == code))) == set(least)
    assert not units.least_of_each(codes[:0], numbers[:0], rows).size


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("end", ["min", "max"])
@pytest.mark.parametrize("apart", [1, 2**40])
def test_codes_of_whole_numbers_tell_them_apart(dtype: Any, end: str, apart: int) -> None:
    """Numbers close together are codes as they are, and others are sorted; up to the ends."""
    info = np.iinfo(dtype)
    steps = np.random.default_rng(1).integers(0, min(300, (info.max - info.min) // apart + 1), 400)
    sign = 1 if end == "min" else -1
    numbers = [getattr(info, end) + sign * apart * step for step in steps.tolist()]
    codes = units._numbered(np.array(numbers, dtype=dtype)).tolist()
    assert 0 <= min(codes) <= max(codes) < 400
    assert len(set(codes)) == len(set(numbers)) == len(set(zip(codes, numbers, strict=True)))


NAMES: dict[str, pl.Series] = {
    "whole numbers": pl.Series([7, 7, None, 2**53, 2**53 + 1, None, 7]),
    "real numbers": pl.Series([0.0, -0.0, float("nan"), -float("nan"), None, 1.5, 1.5]),
    "text": pl.Series(["a", "A", "a ", "", None, None, "a"]),
    "categories": pl.Series(["a", "b", "a", None, "b", None, "c"], dtype=pl.Categorical),
    "booleans": pl.Series([True, False, None, True, None, False, True]),
}


@pytest.mark.parametrize("highest", [2**64, 2])
@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
def test_polars_chooses_the_rows_that_all_others_do(
    names: pl.Series, highest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row of each unit, by the same numbers; the first of equal ones counts."""
    drawn = names.alias(units.UNIT).sample(700, with_replacement=True, seed=1)
    table = nw.from_native(drawn.to_frame()).with_columns(
        nw.col(units.UNIT).is_null().alias(units.ABSENT)
    )
    numbers = np.random.default_rng(3).integers(0, highest, 700, dtype=np.uint64)
    monkeypatch.setattr(units, "words", lambda *_: numbers)
    absent = table[units.ABSENT].to_numpy()
    codes = np.where(absent, -1, units._codes(table[units.UNIT], absent))
    kept = units._chosen(table, 1, random.Random(1))
    assert np.array_equal(kept, units.least_of_each(codes + 1, numbers, 1))
    assert (units._least_in_polars(table, numbers) is None) == (highest == 2)
