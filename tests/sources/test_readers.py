"""One CSV file, read by Python or by DuckDB: the same records, types and answers."""

import gzip
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.sources import csv_files, source
from dpquantiles.sources.duckdb import quoted
from dpquantiles.sources.lazy import LazyColumn
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Dialect, Named
from dpquantiles.sources.source import SingleFile, open_whole

WRITTEN = {
    "numbers": "0 -0 +5 5. .5 -.5 1.5 2.5 -2.5 0.49999999999999994 1e3 1E+3 1e-3 5e-324 00012",
    "far": "1e400 -1e400 1e-400 inf -Infinity +INF 1e18 9.3e18 -9.3e18 12345678901234567890123",
    "whole": "9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775809",
    "grouped": "1,5 1.234,5 1,234.5 1,23 12,345 1'234 1.234.567,8",
    "words": "true Yes f N nan n/a null -999 Refused 2024-01-01",
    "none": "1_000 0x1F 1/2 $5 5% (5) 1e 1e+ --5 + - . e5 \u0663",
}
CELLS = [cell for line in WRITTEN.values() for cell in line.split()]
CELLS += ["", "1 234", "1\u00a0234", "1\u2019234", " 7", "7\u00a0", "\t7\u2003", "7 7", "9" * 500]

DIALECTS = {
    "usual": Dialect(),
    "German": Dialect(";", ",", "."),
    "French": Dialect("\t", ",", " "),
    "Swiss": Dialect(";", ".", "'"),
    "English": Dialect("|", ".", ","),
    "codes": Dialect(na=("-999", " REFUSED", "5%", "12")),
}


def by_python(file: Named) -> list[Any]:
    return plain(np.ma.array(csv_files.read_column(file, "x").values).tolist())


def by_duckdb(file: Named) -> list[Any]:
    relation = open_whole(file).typed(["x"]).table.frame.to_native()
    return plain([cell for (cell,) in relation.select(quoted("x")).fetchall()])


def plain(values: list[Any]) -> list[Any]:
    """Values with one form of a missing one."""
    return [None if value is None or value != value else value for value in values]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("type_name", ["int", "float", "bool"])
def test_a_cell_has_one_value(tmp_path: Path, type_name: str, dialect: Dialect) -> None:
    file = Named(str(tmp_path / "cells.csv"), type=type_name, dialect=dialect)
    rows = [file.comma.join([f'"{cell}"', "a"]) for cell in CELLS]
    text = "\n".join([file.comma.join("xy"), *rows, ""])
    Path(file.name).write_text(text, encoding="utf-8")
    found = by_python(file)
    assert found == by_duckdb(file)
    assert None in found
    assert any(value is not None for value in found)


def test_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    cells = ["1.234,5", "-1.234.567", "0,5", "3.14", "12.34", "1,2,3", "7"]
    path.write_text("\n".join(["x", *(f'"{cell}"' for cell in cells), ""]), encoding="utf-8")
    file = Named(str(path), type="float", dialect=DIALECTS["German"])
    assert by_python(file) == [1234.5, -1234567.0, 0.5, None, None, None, 7.0]


PIECES = [*["1", "23", ",", ",", "\n", "\n", '"', '""', " ", "\u00e9", "-4.5", "abc", "\t", "\\"]]
PIECES += ["#", "'", "1e3", ";", '"7"', '"8\n9"', ',"a""b",', '\n"5",', '\n"6"\n', "yes", "\r"]


def test_files_that_all_readers_divide_alike(tmp_path: Path) -> None:
    draw, counts = random.Random(7), {True: 0, False: 0}
    file = Named(str(tmp_path / "x.csv"))
    for _ in range(300):
        end = draw.choice(["\n", "\n", "\r\n"])
        body = "".join(draw.choices(PIECES, k=draw.randrange(1, 12))).replace("\n", end)
        head = draw.choice(["x,y", "y,x", "x"])
        Path(file.name).write_bytes(f"{head}{end}{body}".encode())
        typed = replace(file, type=draw.choice(["int", "float", "bool"]))
        alike = csv_files.is_plain(typed)
        counts[alike] += 1
        if alike:
            assert by_python(typed) == by_duckdb(typed), repr(body)
    assert min(counts.values()) > 50


@pytest.mark.parametrize(
    ("content", "alike"),
    [
        (b"x,y\n1,a\n2,b\n", True),
        (b"x,y\r\n1,a\r\n2,b", True),
        (b'x,y\n1,"a, ""b"""\n"2",b\n', True),
        (b"x,y\n1,caf\xc3\xa9\n", True),
        (b"x,y\n1,caf\xe9\n", False),
        (b'x,y\n1,a"b\n', False),
        (b'x,y\n1,"a"b\n', False),
        (b'x,y\n1,"a\n', False),
        (b'x,y\n1,"a\nb"\n', False),
        (b"x,y\n1,a\r\n2,b\n", False),
        (b"x,y\n1,a\r2,b\n", False),
        (b"x,X\n1,2\n", False),
    ],
)
def test_who_reads_a_file(tmp_path: Path, content: bytes, alike: bool) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    opened = SingleFile.of(Named(str(tmp_path / "x.csv"), type="int"), "x")
    assert isinstance(opened.source("x"), LazyColumn if alike else TypedColumn)


def test_long_lines_are_left_to_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 1000)
    (tmp_path / "x.csv").write_text(f"x,y\n1,{'a' * 1000}\n")
    assert not csv_files.is_plain(Named(str(tmp_path / "x.csv")))


def test_other_types_are_read_by_python(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n2024-05-01\n2024-05-02\n")
    opened = SingleFile.of(Named(str(tmp_path / "x.csv")), "x")
    assert isinstance(opened.source("x"), TypedColumn)


@pytest.mark.parametrize("type_name", [None, "int", "float"])
def test_the_same_release(
    tmp_path: Path, type_name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [str(k * k % 997) for k in range(2000)] + ["n/a", "", "1e30", "2.5"] * 20
    (tmp_path / "x.csv").write_text("\n".join(["who,x", *(f"a,{cell}" for cell in cells)]))
    with gzip.open(tmp_path / "y.csv.gz", "wb") as file:
        file.write((tmp_path / "x.csv").read_bytes())

    def release(name: str) -> dpq.Release:
        data = dpq.csv(tmp_path / name, type=type_name)
        return dpq.quartiles(data, column="x", epsilon=1, rng=random.Random(3))

    found = release("x.csv")
    assert release("y.csv.gz") == found
    monkeypatch.setattr(source, "find_spec", lambda _: None)
    assert release("x.csv") == found


def test_the_first_cells_tell_the_type(tmp_path: Path) -> None:
    """So that Python and DuckDB, which reads no more than those, find the same one."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *["1"] * 10_000, *["2.5"] * 20_000, ""]))
    assert csv_files.read_column(Named(str(path)), "x").kind.name == "int"
    assert open_whole(Named(str(path))).source("x").kind.name == "int"


def test_a_dialect_in_python(tmp_path: Path) -> None:
    path = tmp_path / "pay.txt"
    path.write_text("name;pay\n" + "a;1.234,5\nb;-999\n" * 300, encoding="utf-8")
    marks: dict[str, Any] = {"delimiter": ";", "decimal": ",", "thousands": "."}
    data = dpq.csv(path, na="-999", **marks)
    assert dpq.median(data, column="pay", epsilon=9).value == pytest.approx(1234.5, rel=0.01)
    codes = dpq.csv(path, **marks)
    assert dpq.quantiles(codes, 0.2, column="pay", epsilon=9).value == pytest.approx(-999, rel=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"decimal": "5"}, "decimal must be one character"),
        ({"thousands": "."}, "thousands must differ from decimal"),
        ({"na": [-999]}, "na must be text"),
        ({"type": "number"}, "type must be one of"),
    ],
)
def test_a_dialect_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        dpq.csv("x.csv", **options)


def test_only_csv_files_have_a_dialect() -> None:
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        dpq.csv("x.json")
    with pytest.raises(TypeError, match="path must be the name of CSV files"):
        dpq.csv(["x.csv"])  # type: ignore[arg-type]
