"""Keys and units that Python cannot show: they count like others, and decide no error."""

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpquantiles as dpq
from dpquantiles.sources.keys import MARK, read
from tests.sources.origins import in_dask, in_duckdb, in_ibis

EACH = 200
VALUES = pa.array(np.arange(3.0 * EACH + 1) % 100)
LAST_DAY = 2**31 - 1


def texts(*names: bytes) -> pa.Array:
    """Text as Arrow takes it from a file: nobody looks whether it is UTF-8."""
    cells = [name for name in names[:-1] for _ in range(EACH)]
    return pa.array([*cells, names[-1]], pa.binary()).view(pa.string())


def dates(*days: int) -> pa.Array:
    cells = [day for day in days[:-1] for _ in range(EACH)]
    return pa.array([*cells, days[-1]], pa.int32()).view(pa.date32())


COLUMNS = {
    "text": (texts(b"ok", b"\xff", b"a\xfe", b"\xed\xa0\x80"), "ok"),
    "dates": (dates(19_000, LAST_DAY, -(10**8), LAST_DAY - 1), dt.date(2022, 1, 8)),
}


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.DataFrame(table).lazy(),
    "duckdb": in_duckdb,
    "ibis": in_ibis,
    "dask": lambda table: in_dask(table, parts=3),
}
each_library = pytest.mark.parametrize("library", LIBRARIES)
each_column = pytest.mark.parametrize("column", COLUMNS)
PRIVATE = {"keys": "private", "neighbors": "add-remove", "delta": 1e-6}


def ask(data: Any, **options: Any) -> Any:
    stated = {"column": "v", "by": "g", "epsilon": 50.0, "bounds": (0, 100)}
    return dpq.quantiles(data, 0.5, **{**stated, **options})


def check_selection(data: Any, shown: Any) -> None:
    release = ask(data, **PRIVATE)
    assert set(release) == {shown, "<not shown: 1>", "<not shown: 2>"}
    assert release.provenance["sizes"] == [pytest.approx(EACH, abs=20)] * 3
    assert all(abs(answer - 50) < 9 for (answer,) in release.values)
    assert dpq.GroupedRelease.from_json(release.to_json()) == release
    assert len(release["<not shown: 2>"].values) == 1
    assert "&lt;not shown: 1&gt;" in release._repr_html_()
    for frame in (release.to_frame(), release.to_wide(), release.to_frame("polars")):
        keys = frame["g"].to_pylist() if isinstance(frame, pa.Table) else frame["g"].to_list()
        assert sorted(keys) == sorted(str(key) for key in release)


@each_library
@each_column
def test_keys_that_cannot_be_shown_are_found_like_others(library: str, column: str) -> None:
    """Two are large and stay apart, and the third, a single record, changes nothing."""
    cells, shown = COLUMNS[column]
    check_selection(LIBRARIES[library](pa.table({"g": cells, "v": VALUES})), shown)


@each_library
@each_column
def test_one_record_decides_no_error_and_no_word(library: str, column: str) -> None:
    """Listed keys, found ones and units, with and without a record that cannot be shown."""
    cells, shown = COLUMNS[column]
    alone = pa.table({"g": cells, "v": VALUES}).slice(0, EACH)
    one_more = pa.concat_tables([alone, pa.table({"g": cells, "v": VALUES}).slice(3 * EACH)])
    for table, more in ((alone, 0), (one_more, 1)):
        data = LIBRARIES[library](table)
        listed = ask(data, keys=[shown], rng=random.Random(1))
        assert listed.provenance["sizes"] == [EACH]
        assert list(ask(data, **PRIVATE)) == [shown]
        units = dpq.quantiles(data, 0.5, column="v", unit="g", epsilon=1.0, bounds=(0, 100))
        assert units.provenance["size"] == 1 + more
        both = {"unit": "g", "max_rows_per_unit": EACH, "neighbors": "add-remove", "size": EACH}
        assert list(ask(data, keys=[shown], **both)) == [shown]


def test_spark_finds_keys_that_cannot_be_shown(spark: Any) -> None:
    names = ("'ok'", "CAST(X'FF' AS STRING)", "CAST(X'61FE' AS STRING)")
    days = (f"date_from_unix_date({day})" for day in (19_000, LAST_DAY, -(10**8)))
    parts = (
        f"SELECT {name} AS g, {day} AS d, id % 100 AS v FROM range({EACH})"
        for name, day in zip(names, days, strict=True)
    )
    release = ask(spark.sql(" UNION ALL ".join(parts)), by=["g", "d"], **PRIVATE)
    hidden = ["<not shown: 1>", "<not shown: 2>"]
    assert {key[0] for key in release} == {"ok", *hidden}
    assert {key[1] for key in release} == {dt.date(2022, 1, 8), *hidden}


def test_postgres_finds_dates_that_cannot_be_shown(postgres: Any) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE days (g date, v integer)")
        for day in ("2022-01-08", "infinity", "-infinity", "4713-01-01 BC", "0001-12-31 BC"):
            connection.execute(
                f"INSERT INTO days SELECT '{day}', i % 100 FROM generate_series(1, {EACH}) AS t(i)"
            )
        for day in ("5874897-12-31", "10000-01-01", "9999-12-31", "0001-01-01"):
            connection.execute(f"INSERT INTO days VALUES ('{day}', 50)")
    database = postgres.ibis()
    data = database.table("days")
    release = ask(data, **PRIVATE)
    assert [*release] == [
        "<not shown: 1>",
        "<not shown: 2>",
        "<not shown: 3>",
        dt.date(2022, 1, 8),
        "<not shown: 4>",
    ]
    edges = [dt.date(2022, 1, 8), dt.date.min, dt.date.max]
    assert ask(data, keys=edges).provenance["sizes"] == [EACH, 1, 1]
    people = dpq.quantiles(data, 0.5, column="v", unit="g", epsilon=1.0, bounds=(0, 100))
    assert people.provenance["size"] == 9
    database.disconnect()


def test_stand_ins_are_nobodys_name() -> None:
    """Parts are numbered by column, and step aside for text that looks like them."""
    codes = [(b"\xff", 1), (b"\xfe", 10**9), (b"\xff", 10**9), (b"<not shown: 1>", -(10**9))]
    assert read(codes, ("str", "date")) == (
        ("<not shown: 1>_", dt.date(1970, 1, 2)),
        ("<not shown: 2>", "<not shown: 1>"),
        ("<not shown: 1>_", "<not shown: 1>"),
        ("<not shown: 1>", "<not shown: 2>"),
    )


@each_library
def test_text_that_looks_like_a_code_is_a_key_like_others(library: str) -> None:
    names = [f"{MARK}#ff", f"{MARK}=a", "a", ""]
    cells = texts(*(name.encode() for name in names[:3]), b"")
    data = LIBRARIES[library](pa.table({"g": cells, "v": VALUES}))
    assert set(ask(data, **PRIVATE)) == set(names[:3])
    assert ask(data, keys=names).provenance["sizes"] == [EACH] * 3 + [1]


def test_text_of_python_that_no_file_can_hold() -> None:
    """Surrogates, in columns of pandas that hold Python's own text or any object."""
    names = ["\ud800", "\udfff", r"\ud800"]
    places = np.repeat([0, 1, 2], EACH)
    objects = pd.Series([names[place] for place in places], dtype=object)
    categories = pd.Categorical.from_codes(places, pd.Index(names, dtype=object))
    for cells in (objects, categories, objects.astype(pd.StringDtype("python"))):
        data = pd.DataFrame({"g": cells, "v": np.arange(3 * EACH) % 100})
        assert set(ask(data, **PRIVATE)) == {r"\ud800", "<not shown: 1>", "<not shown: 2>"}
        assert ask(data, keys=[r"\ud800"]).provenance["sizes"] == [EACH]
