"""What counts as a record of a CSV file: the same alone, without a library, and by pattern."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.sources.duckdb import quoted
from dpquantiles.sources.named import Named
from dpquantiles.sources.source import open_whole
from tests.sources.reading import read_column

LINES = {
    "not UTF-8 elsewhere": (b"x,y\n1,a\n2,caf\xe9\n3,\x80\n", [1, 2, 3]),
    "UTF-8": ("x,y\n1,caf\u00e9\n\u20ac2,\U0001f600\n".encode(), [1, None]),
    "too few cells": (b"y,x\na,1\nb\nc,3\n", [1, None, 3]),
    "too many cells": (b"x,y\n1,a,b,c\n2,d\n", [1, 2]),
    "blank lines": (b"x,y\n1,a\n\n2,b\n\n", [1, 2]),
    "blank lines of one column": (b"x\n1\n\n2\n\n", [1, None, 2, None]),
    "zero bytes": (b"x,y\n1,\x00\n\x00,b\n3,c\n", [1, None, 3]),
    "a line end in quotes": (b'x,y\n1,"a\n2,b"\n3,"c"\n', [1, 3]),
    "a quote that stays open": (b'x,y\n1,a\n2,"b\n3,c\n4,d\n', [1, 2]),
    "Windows": (b"\xef\xbb\xbfx,y\r\n1,a\r\n2,b\r\n", [1, 2]),
    "a column without a name": (b",x\n0,1\n1,2\n", [1, 2]),
    "quotes in names": (b'x,it\'s,"a ""b"""\n1,a,b\n2,c,d\n', [1, 2]),
}
"""Lines of a CSV file, and what stands in the column x of every record."""


def cells(pattern: str, column: str) -> list[Any]:
    opened = open_whole(Named(pattern, type="int")).typed(["x"])
    relation = opened.table.frame.to_native()
    return [cell for (cell,) in relation.select(quoted(column)).fetchall()]


@pytest.mark.parametrize("case", LINES)
def test_a_line_is_a_record_whatever_it_holds(tmp_path: Path, case: str) -> None:
    content, expected = LINES[case]
    (tmp_path / "lines.csv").write_bytes(content)
    alone = read_column(tmp_path / "lines.csv", "x", "int").values
    assert np.ma.array(alone).tolist() == expected
    assert cells(f"{tmp_path}/*.csv", "x") == expected


def test_only_a_pattern_leaves_out_cells_that_are_not_utf8(tmp_path: Path) -> None:
    """The exception that is documented."""
    (tmp_path / "lines.csv").write_bytes(b"x,y\n1,a\n\xff2,b\n3,caf\xe9\n")
    alone = read_column(tmp_path / "lines.csv", "x", "int").values
    assert np.ma.array(alone).tolist() == [1, None, 3]
    assert cells(f"{tmp_path}/*.csv", "x") == [1, 3]
    assert cells(f"{tmp_path}/*.csv", "y") == ["a", "b"]


@pytest.mark.parametrize("line", [b"\xff7,a\n", b"7,\xff\n", b"7,a\xff\n", b"\xff,\xff\n"])
def test_groups_are_counted_by_the_lines_that_are_read(tmp_path: Path, line: bytes) -> None:
    """A value that is not UTF-8 was counted in its group, and then not read with it."""
    (tmp_path / "lines.csv").write_bytes(b"x,g\n" + b"1,a\n2,b\n" * 50 + line)
    for keys in (["a", "b"], ["a"]):
        asked: dict[str, Any] = {"by": "g", "keys": keys, "epsilon": 1}
        made = dpq.quantiles(f"{tmp_path}/*.csv", [0.5], column="x", **asked)
        assert len(made.values) == len(keys)
