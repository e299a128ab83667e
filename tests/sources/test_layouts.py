"""Files of one pattern: columns matched by name, types joined from headers and footers alone."""

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpquantiles as dpq
from dpquantiles.errors import UnreadableData
from dpquantiles.sources import relations
from dpquantiles.sources.layouts import common_type
from dpquantiles.sources.named import Named
from dpquantiles.sources.source import open_whole

pytest.importorskip("duckdb")

N = 600
IDS = np.arange(10**6, 10**6 + N)
VALUES = np.arange(N) % 100
"""Identifiers that are far from all values."""


def write(path: Path, columns: dict[str, Any], comma: str = ",", before: str = "") -> None:
    rows = [
        comma.join(columns),
        *(comma.join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    held = (before + "\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(held) if path.suffix == ".gz" else held)


def save(path: Path, columns: dict[str, Any]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        write(path, columns, "\t" if path.suffix == ".tsv" else ",")


def halves(**columns: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    first = {name: cells[: N // 2] for name, cells in columns.items()}
    return first, {name: cells[N // 2 :] for name, cells in columns.items()}


def turned(columns: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(columns.items()))


def quartiles(data: Any, column: str | None = "v", **options: Any) -> Any:
    asked = {"epsilon": 1, "rng": random.Random(3), "bounds": (0, 2 * 10**6), **options}
    return dpq.quartiles(data, column=column, **asked)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_columns_are_matched_by_name(tmp_path: Path, ending: str) -> None:
    """Files with `id,v` and `v,id` gave quartiles of values and identifiers mixed."""
    first, second = halves(id=IDS, part=np.where(VALUES < 50, "low", "high"), v=VALUES)
    save(tmp_path / f"a.{ending}", first)
    save(tmp_path / f"b.{ending}", turned(second))
    pattern = f"{tmp_path}/*.{ending}"
    assert quartiles(pattern).values == quartiles(VALUES, None).values
    by = dpq.quantiles(pattern, [0.5], column="v", by="part", keys=["low", "high"], epsilon=200)
    assert by["low"].value == pytest.approx(25, abs=3)
    assert by["high"].value == pytest.approx(75, abs=3)
    assert quartiles(pattern, unit="id").values == pytest.approx((25, 50, 75), abs=20)
    described = dpq.describe(pattern, ["v", "id"], epsilon=200)
    assert described["id"].values[0] >= 10**6
    assert described["v"].values[-1] <= 100


def test_files_may_have_more_columns_than_others(tmp_path: Path) -> None:
    first, second = halves(id=IDS, v=VALUES, w=IDS)
    write(tmp_path / "a.csv", first)
    del second["w"]
    write(tmp_path / "b.csv", {"z": IDS[N // 2 :], **turned(second)})
    assert quartiles(f"{tmp_path}/*.csv").values == quartiles(VALUES, None).values


def _typed(pattern: str) -> Any:
    """What DuckDB is asked for, where v is a column of whole numbers."""
    opened = open_whole(Named(pattern, type="int"))
    return opened.typed(["v"]).table.frame.to_native()


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", "\ufeff\n"])
def test_marks_and_blank_lines_before_a_header(tmp_path: Path, before: str) -> None:
    first, second = halves(id=IDS, v=VALUES)
    write(tmp_path / "a.csv", first)
    write(tmp_path / "b.csv", second, before=before)
    found = _typed(f"{tmp_path}/*.csv")
    assert sorted(found.select("v").fetchall()) == [(v,) for v in sorted(VALUES.tolist())]


HEADERS: dict[str, tuple[str, str]] = {
    "another name": ("x,w\n1,2\n", r"b\.csv' lacks it; .*its columns: 'x', 'w'"),
    "another case": ("x,V\n1,2\n", r"b\.csv' lacks it; did you mean 'V'\?"),
    "twice": ("v,x,v\n1,2,3\n", r"b\.csv' has several of that name"),
    "no header": ("7,8\n1,2\n", r"b\.csv' lacks it; its first line holds numbers"),
    "nothing": ("", r"b\.csv' must begin with a line of column names"),
    "nothing but a mark": ("\ufeff", r"b\.csv' must begin with a line of column names"),
}


@pytest.fixture
def ledger(tmp_path: Path) -> dpq.Ledger:
    return dpq.Ledger(tmp_path / "budget.db", epsilon=10)


def ask(pattern: str, role: str, **options: Any) -> Any:
    """The column v in one of its roles."""
    if role == "describe":
        return dpq.describe(pattern, ["x", "v"], **options)
    roles: dict[str, dict[str, Any]] = {"by": {"by": "v", "keys": ["3"]}, "unit": {"unit": "v"}}
    options |= roles.get(role, {})
    return dpq.quantiles(pattern, [0.5], column="v" if role == "column" else "x", **options)


@pytest.mark.parametrize("case", HEADERS)
@pytest.mark.parametrize("role", ["column", "by", "unit", "describe"])
def test_files_that_do_not_fit_are_refused_before_the_charge(
    tmp_path: Path, ledger: dpq.Ledger, case: str, role: str
) -> None:
    content, message = HEADERS[case]
    (tmp_path / "a.csv").write_text("x,v\n1,3\n")
    (tmp_path / "b.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        ask(f"{tmp_path}/*.csv", role, epsilon=1, ledger=ledger, dataset="people")
    assert len(ledger) == 1


def test_other_columns_do_not_matter(tmp_path: Path) -> None:
    """Nor those that are repeated, differ by case alone, have no name, or have another type."""
    (tmp_path / "a.csv").write_text("w,w,v,a,A,\n1,2,3,4,5,6\n")
    (tmp_path / "b.csv").write_text("w,,v,A,a,u\n1,2,4,4,5,6\n")
    found = _typed(f"{tmp_path}/*.csv")
    assert sorted(found.select("v").fetchall()) == [(3,), (4,)]
    save(tmp_path / "a.parquet", {"v": [1, 2], "w": ["a", "b"]})
    save(tmp_path / "b.parquet", {"v": [3, 4], "w": [1, 2]})
    assert _typed(f"{tmp_path}/*.parquet").columns == ["v"]


@pytest.mark.parametrize("role", ["column", "by", "unit", "describe"])
def test_numbers_and_text_do_not_meet(tmp_path: Path, ledger: dpq.Ledger, role: str) -> None:
    """One cell that is no number made an error of an answer, after the charge."""
    save(tmp_path / "a.parquet", {"x": [1, 2], "v": [1, 2]})
    told = []
    for cells in (["3", "4"], ["3", "four"]):
        save(tmp_path / "b.parquet", {"x": [1, 2], "v": cells})
        with pytest.raises(ValueError, match=r"BIGINT in '.*a\.parquet' and VARCHAR in ") as caught:
            ask(f"{tmp_path}/*.parquet", role, epsilon=1, ledger=ledger, dataset="people")
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert len(ledger) == 1


def test_numbers_of_parquet_files_join(tmp_path: Path) -> None:
    save(tmp_path / "a.parquet", {"v": pa.array([1, -(2**31)], pa.int32()), "w": [1, 2]})
    save(tmp_path / "b.parquet", {"w": [1.5, 2**53], "v": pa.array([2**62, None], pa.int64())})
    save(tmp_path / "c.parquet", {"w": pa.nulls(2), "v": pa.nulls(2)})
    found = _typed(f"{tmp_path}/*.parquet")
    assert dict(zip(found.columns, map(str, found.types), strict=True)) == {
        "v": "BIGINT",
        "w": "DOUBLE",
    }
    cells = found.filter("v IS NOT NULL").select("v").fetchall()
    assert sorted(cells) == [(-(2**31),), (1,), (2**62,)]
    expected = dpq.median([1, -(2**31), 2**62, None, None, None], epsilon=1, rng=random.Random(1))
    asked: dict[str, Any] = {"column": "v", "epsilon": 1, "rng": random.Random(1)}
    assert dpq.median(f"{tmp_path}/*.parquet", **asked).values == expected.values


@pytest.mark.parametrize(
    ("types", "joined"),
    [
        (("INTEGER", "INTEGER"), "INTEGER"),
        (("SMALLINT", "BIGINT"), "BIGINT"),
        (("INTEGER", "UINTEGER"), "BIGINT"),
        (("BIGINT", "UBIGINT"), "HUGEINT"),
        (("HUGEINT", "UHUGEINT"), None),
        (("BIGINT", "FLOAT"), "DOUBLE"),
        (('"NULL"', "DATE"), "DATE"),
        (('"NULL"', '"NULL"'), '"NULL"'),
        (("DATE", "TIMESTAMP"), None),
        (("TIMESTAMP", "TIMESTAMP_NS"), None),
        (("DECIMAL(9,2)", "DECIMAL(18,2)"), None),
        (("BIGINT", "DECIMAL(9,2)"), None),
        (("BIGINT", "BOOLEAN"), None),
        (("VARCHAR", "BIGINT"), None),
    ],
)
def test_a_type_that_holds_all(types: tuple[str, ...], joined: str | None) -> None:
    assert common_type(types) == common_type(reversed(types)) == joined


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_of_folders_are_columns(tmp_path: Path, ending: str) -> None:
    for county, columns in zip(("Kent", "Essex"), halves(id=IDS, v=VALUES), strict=True):
        folder = tmp_path / f"county={county}"
        folder.mkdir()
        save(folder / f"a.{ending}", columns if county == "Kent" else turned(columns))
    pattern = f"{tmp_path}/**/*.{ending}"
    found = dpq.quantiles(
        pattern, [0.5], column="v", by="county", keys=["Kent", "Essex"], epsilon=500
    )
    assert all(values[0] in (49, 50) for values in found.values)


def test_names_that_look_like_patterns(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("x,v\n1,3\n")
    (tmp_path / "a1.csv").write_text("v,x\n4,1\n")
    found = _typed(f"{tmp_path}/*.csv")
    assert sorted(found.select("v").fetchall()) == [(3,), (4,)]
    alone = _typed(f"{tmp_path}/a[1].csv")
    assert alone.select("v").fetchall() == [(3,)]


def test_thousands_of_files_are_few_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB binds one query per layout; a header is one line of a file."""
    for k in range(1000):
        (tmp_path / f"{k}.csv").write_text("x,v\n1,3\n" if k % 2 else "v,x\n3,1\n")
    found: list[Any] = []
    bound = relations._layout

    def watched(*told: Any) -> Any:
        found.append(told)
        return bound(*told)

    monkeypatch.setattr(relations, "_layout", watched)
    relation = _typed(f"{tmp_path}/*.csv")
    assert len(found) == 2
    assert relation.aggregate("count(*), min(v), max(v)").fetchall() == [(1000, 3, 3)]


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"v\n1\n")[:-12])
    (tmp_path / "b.csv.gz").write_bytes(b"v\n1\n")
    for name in ("a", "b"):
        with pytest.raises(ValueError, match=rf"{name}\.csv\.gz' cannot be read as CSV"):
            dpq.median(f"{tmp_path}/{name}*.csv.gz", column="v", epsilon=1)


WHOLE = gzip.compress(
    "\n".join(["v", *map(str, np.random.default_rng(0).integers(0, 10**9, 50_000))]).encode()
)


@pytest.mark.parametrize(
    ("damaged", "how"),
    [
        pytest.param(WHOLE[:20_000], "EOFError", id="half"),
        pytest.param(WHOLE[:-4], "EOFError", id="all but the checksum"),
        pytest.param(
            WHOLE[:100_000] + b"\xff" * 99_999 + WHOLE[-40_000:], "error", id="overwritten"
        ),
        pytest.param(WHOLE + b"more", "BadGzipFile", id="more behind it"),
    ],
)
def test_an_archive_that_is_damaged_below_its_header_is_named(
    tmp_path: Path, damaged: bytes, how: str
) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(damaged)
    with pytest.raises(
        UnreadableData, match=rf"cut\.csv\.gz' .* \({how}\); it may be cut off or damaged"
    ) as caught:
        dpq.median(str(path), column="v", epsilon=1)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
