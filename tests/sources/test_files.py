"""Columns of files: what is read, and what each broken file is told."""

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.errors import MissingBackend
from dpquantiles.sources import named, parquet_files
from dpquantiles.sources.named import Named
from tests.sources.reading import read_column

LIBRARIES = ("pyarrow", "polars")


def write(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def only(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Pretend that this is the only library installed."""
    for module in (named, parquet_files):
        monkeypatch.setattr(module, "find_spec", lambda name: name == library or None)


def test_quotes_commas_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    content = '\ufeff"a, or b",c\r\n"1","x\r\ny"\r\n2,"say ""hi"""\r\n'
    assert read_column(write(tmp_path, content), "a, or b").values.tolist() == [1, 2]


def test_ragged_rows_have_missing_cells(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,10\n2\n\n3,30,300\n4,\n")
    values = read_column(path, "b").values
    assert np.ma.getmaskarray(values).tolist() == [False, True, False, True]
    assert np.ma.compressed(values).tolist() == [10, 30]


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    path = write(tmp_path, b"name,a\nM\xfcller,1\n\xff\xfe,2\n")
    assert read_column(path, "a").values.tolist() == [1, 2]


def test_a_cell_of_any_length_does_not_raise(tmp_path: Path) -> None:
    path = write(tmp_path, "note,a\n" + "x" * 300_000 + ',1\n"never closed,2\n')
    before = csv.field_size_limit()
    assert np.ma.getmaskarray(read_column(path, "a").values).tolist() == [False, True]
    assert csv.field_size_limit() == before


def test_names_are_found_without_their_spaces(tmp_path: Path) -> None:
    assert read_column(write(tmp_path, "a, b\n1, 2\n"), "b").values.tolist() == [2]


def test_a_file_without_records_is_a_column(tmp_path: Path) -> None:
    assert len(read_column(write(tmp_path, "a,b\n"), "a", "int").values) == 0


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", ",,\n"])
def test_a_file_without_a_header(tmp_path: Path, content: str) -> None:
    with pytest.raises(ValueError, match="must begin with a line of column names"):
        read_column(write(tmp_path, content), "a")


def test_a_missing_column_gets_the_nearest_name(tmp_path: Path) -> None:
    path = write(tmp_path, "Arr_Delay,carrier\n1,UA\n")
    with pytest.raises(ValueError, match=r"did you mean 'Arr_Delay'\? its columns: .*'carrier'"):
        read_column(path, "arr_dely")


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    names = ",".join([f"column_{i}" for i in range(50)] + ["y" * 100])
    with pytest.raises(ValueError, match=r"'column_19' and 31 more$"):
        read_column(write(tmp_path, names + "\n"), "zz")


def test_a_first_line_that_may_be_a_record_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="may be a record") as caught:
        read_column(write(tmp_path, "Miller,1234567\nSmith,7654321\n"), "Milner")
    assert "Miller" not in str(caught.value)
    assert "1234567" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"column": "Milner"}, {"by": "county", "keys": ["Kent"]}, {"unit": "person"}],
    ids=lambda options: next(iter(options)),
)
def test_nor_is_it_where_duckdb_reads_it(tmp_path: Path, options: dict[str, Any]) -> None:
    pytest.importorskip("duckdb")
    write(tmp_path, "Miller,1234567\nSmith,7654321\n", "people.csv")
    asked: dict[str, Any] = {"column": "1234567", "epsilon": 1.0, **options}
    with pytest.raises(ValueError, match="may be a record") as caught:
        dpq.quantiles(str(tmp_path / "peopl*.csv"), [0.5], **asked)
    assert "Miller" not in str(caught.value)


def test_names_are_listed_where_duckdb_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    write(tmp_path, "county,age\nKent,7\n", "people.csv")
    with pytest.raises(ValueError, match=r"unit must name .*; its columns: 'county', 'age'"):
        dpq.median(str(tmp_path / "peopl*.csv"), column="age", unit="person", epsilon=1.0)


def test_a_name_that_occurs_twice(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must have one column 'a', got 2"):
        read_column(write(tmp_path, "a,a\n1,2\n"), "a")


def test_binary_junk_named_csv(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not look like text in UTF-8"):
        read_column(write(tmp_path, bytes(range(256)) * 8), "a")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "flights.csv")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'flights.csv'\?"):
        read_column(tmp_path / "fligths.csv", "a")
    with pytest.raises(FileNotFoundError, match="check the path"):
        read_column(tmp_path / "nowhere" / "x.csv", "a")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a directory"):
        read_column(tmp_path, "a")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "a\n1\n")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError, match="Permission denied; check its permissions"):
        read_column(path, "a")


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in .csv, .tsv"):
        read_column(write(tmp_path, "a\n", "data.xlsx"), "a")


def test_with_a_stated_type_no_cell_raises(tmp_path: Path) -> None:
    """However many cells do not fit: one record must not decide between an answer and an error."""
    for cells in ("x\nx\n1", "x\nx\nx", "31/05/2024"):
        path = tmp_path / "cells.csv"
        path.write_text(f"a\n{cells}\n", encoding="utf-8")
        assert len(read_column(path, "a", "int").values) == cells.count("\n") + 1


def test_an_unknown_type(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'int'"):
        Named(str(write(tmp_path, "a\n1\n")), type="integer")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "int": [1, None, -3],
            "float": [1.5, None, float("nan")],
            "bool": [True, None, False],
            "date": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)],
            "time": [dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC), None, None],
            "span": [dt.timedelta(hours=1), None, dt.timedelta(0)],
            "text": ["a", None, "b"],
            "price": pl.Series([Decimal("1.50"), None, Decimal("2.25")], dtype=pl.Decimal(9, 2)),
        }
    )
    frame.write_parquet(tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.mark.parametrize("library", LIBRARIES)
def test_parquet_has_its_own_types(
    table: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, library)
    columns = ("int", "float", "bool", "date", "time", "span", "price")
    kinds = [read_column(table, name).kind.name for name in columns]
    assert kinds == ["int", "float", "bool", "date", "datetime", "timedelta", "decimal"]
    assert np.ma.getmaskarray(read_column(table, "int").values).tolist() == [False, True, False]


@pytest.mark.parametrize("library", LIBRARIES)
def test_parquet_errors(table: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, library)
    with pytest.raises(ValueError, match=r"did you mean 'float'\?"):
        read_column(table, "flat")
    with pytest.raises(TypeError, match=r"column 'text': .* got .*text"):
        read_column(table, "text")
    cut = write(table.parent, table.read_bytes()[:-40], "cut.parquet")
    with pytest.raises(ValueError, match="may be cut off or damaged") as caught:
        read_column(cut, "int")
    # A traceback shows the cause of an error as well, and what a library quotes in it.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("library", LIBRARIES)
def test_parquet_names_are_no_patterns(
    table: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, library)
    odd = write(table.parent, table.read_bytes(), "[a]*.parquet")
    assert read_column(odd, "int").kind.name == "int"


def test_numbers_of_parquet_may_be_read_as_another_type(table: Path) -> None:
    assert read_column(table, "int", "float").kind.name == "float"
    assert read_column(table, "price", "decimal").kind == read_column(table, "price").kind
    with pytest.raises(TypeError, match="is of type date by the file's schema"):
        read_column(table, "date", "int")


def test_junk_named_parquet(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_column(write(tmp_path, bytes(range(256)), "x.parquet"), "a")


def test_parquet_needs_a_library(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "none of them")
    with pytest.raises(MissingBackend, match=r"pip install 'dpquantiles\[pyarrow\]'"):
        read_column(table, "int")
