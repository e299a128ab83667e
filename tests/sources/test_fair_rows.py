"""Rows of units in lazy tables: every row has the same chance, equal rows too, in every scan."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from dpquantiles.sources import units
from dpquantiles.sources.duckdb import DuckDB
from dpquantiles.sources.tables import Table, open_table
from tests.sources.origins import in_dask, in_duckdb, in_ibis, in_spark

UNITS = 3000
VALUES: dict[str, list[Any]] = {
    "numbers": [0, 1, 2, 3, 4, 5],
    "floats": [0.0, 0.1, 0.2, 0.3, 0.4, None],
    "ties": [0, 0, 0, 1, 1, 2],
}


ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "polars lazy": lambda table: pl.DataFrame(table).lazy(),
    "duckdb": in_duckdb,
    "ibis": in_ibis,
}
WITH_DASK = {**ENGINES, "dask": in_dask}
"""Dask goes by the order of a unit's own rows, and not by what is in them."""


def people(values: list[Any], count: int = UNITS) -> pa.Table:
    """Units with the same values, each under its name and once more under its number."""
    number = [i for i in range(count) for _ in values]
    return pa.table({"u": [f"person {i}" for i in number], "i": number, "v": values * count})


def bounded(data: Any, k: int, seed: int) -> Table:
    return units.bound_rows(open_table(data), "u", k, ("i", "v"), random.Random(seed))


def chosen(data: Any, k: int, seed: int = 1) -> Counter[tuple[Any, ...]]:
    """How often each choice of values was made."""
    frame = bounded(data, k, seed).frame.collect()
    rows = defaultdict(list)
    for value, unit in zip(frame["v"].to_list(), frame["i"].to_list(), strict=True):
        rows[unit].append(None if str(value) == "<NA>" else value)
    return Counter(ordered(values) for values in rows.values())


def ordered(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(values, key=str))


def assert_fair(found: Counter[tuple[Any, ...]], values: list[Any], k: int) -> None:
    """Every set of k rows is equally likely (p > 1e-6)."""
    sets = Counter(map(ordered, itertools.combinations(values, k)))
    share = sum(found.values()) / sum(sets.values())
    assert set(found) <= set(sets)
    counts = [found[rows] for rows in sets]
    assert stats.chisquare(counts, [share * times for times in sets.values()]).pvalue > 1e-6


@pytest.mark.parametrize("engine", WITH_DASK)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("k", [1, 2])
def test_every_row_of_a_unit_has_the_same_chance(engine: str, name: str, k: int) -> None:
    data = WITH_DASK[engine](people(VALUES[name]))
    assert_fair(chosen(data, k), VALUES[name], k)


@pytest.mark.parametrize("engine", WITH_DASK)
def test_every_row_has_the_same_chance_over_all_keys(engine: str) -> None:
    """Few units, many releases."""
    data, found = WITH_DASK[engine](people(VALUES["numbers"], 100)), Counter[tuple[Any, ...]]()
    for seed in range(20):
        found += chosen(data, 1, seed)
    assert_fair(found, VALUES["numbers"], 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("k", [1, 2])
def test_every_scan_sees_the_same_rows_whatever_their_order(engine: str, k: int) -> None:
    """Equal rows are numbered anew in every scan, and yet the same are kept."""
    table = people(VALUES["ties"], 50)
    assert_same_in_any_order(table, engine, k)


def assert_same_in_any_order(table: pa.Table, engine: str, k: int) -> None:
    mixed = table.take(random.Random(3).sample(range(len(table)), len(table)))
    scans = [bounded(ENGINES[engine](rows), k, 5).frame for rows in (table, table, mixed)]
    found = [Counter(scan.collect().rows()) for scan in scans]
    assert found[0] == found[1] == found[2]
    assert found[0].total() == 50 * k


HASHES: dict[str, Callable[[Sequence[str]], str]] = {
    "equal": lambda _: "7::UBIGINT",
    "equal as doubles": lambda cells: f"{2**64 - 1}::UBIGINT - hash({', '.join(cells)}) % 500",
}


@pytest.mark.parametrize("name", ["numbers", "floats"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("hashes", HASHES)
def test_equal_hashes_of_different_rows_leave_nothing_to_the_order(
    name: str, k: int, hashes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if all rows have one hash, a unit's own rows alone determine which are kept."""
    made = HASHES[hashes]
    monkeypatch.setattr(DuckDB, "hash_cell", lambda _self, _native, cells, _key: made(cells))
    assert_same_in_any_order(people(VALUES[name], 50), "duckdb", k)


@pytest.mark.parametrize("engine", WITH_DASK)
@pytest.mark.parametrize("k", [1, 2])
def test_kept_rows_of_a_unit_do_not_depend_on_others(engine: str, k: int) -> None:
    """Given the key, whatever other rows there are."""
    table = people(VALUES["ties"], 40)
    alone = Counter(bounded(WITH_DASK[engine](table.slice(0, 6)), k, 5).frame.collect().rows())
    every = Counter(bounded(WITH_DASK[engine](table), k, 5).frame.collect().rows())
    assert alone == Counter({row: n for row, n in every.items() if row[0] == 0})


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Spark 3 leaves sockets open
def test_rows_are_chosen_fairly_in_spark(spark: Any) -> None:
    for name, k in (("ties", 1), ("ties", 2), ("floats", 1)):
        assert_fair(chosen(in_spark(people(VALUES[name]), spark), k), VALUES[name], k)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("k", [1, 2])
def test_spark_keeps_the_same_rows_in_any_order_and_beside_any_others(spark: Any, k: int) -> None:
    table = people(VALUES["floats"], 40)
    mixed = table.take(random.Random(3).sample(range(len(table)), len(table)))
    some = [table, mixed, table.slice(0, 6)]
    kept = [bounded(in_spark(rows, spark), k, 5).frame.collect().rows() for rows in some]
    first, again, alone = (Counter(map(str, rows)) for rows in kept)
    assert first == again
    assert first.total() == 40 * k
    assert alone == Counter(str(row) for row in kept[0] if row[0] == 0)


def test_rows_are_chosen_fairly_in_postgres(postgres: Any) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE fair (u text, i integer, v integer)")
        connection.execute(
            "INSERT INTO fair SELECT 'person ' || i, i, v FROM "
            f"generate_series(1, {UNITS}) AS s(i), unnest(ARRAY{VALUES['ties']}) AS t(v)"
        )
    database = postgres.ibis()
    assert_fair(chosen(database.table("fair"), 2), VALUES["ties"], 2)
    assert_fair(chosen(database.table("fair"), 1), VALUES["ties"], 1)
    database.disconnect()
