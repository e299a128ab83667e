"""What is loaded when: nothing that was not asked for, seen from fresh processes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpquantiles

LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "typer", "rich", "matplotlib", "scipy"}
LIBRARIES |= {"duckdb", "pyspark", "ibis", "dask"}


def loaded(code: str) -> set[str]:
    """The top-level modules of a fresh process that ran this code."""
    show = (
        "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    command = [sys.executable, "-W", "error", "-c", f"{code}\n{show}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def release(data: str) -> str:
    return f"import dpquantiles as dpq\nassert len(dpq.median({data}, epsilon=1).values) == 1"


def test_importing_loads_no_library() -> None:
    modules = loaded("import dpquantiles")
    assert "numpy" in modules
    assert not modules & LIBRARIES


@pytest.mark.parametrize("data", ["[1, 2.5, None]", "(1, 2)", "__import__('numpy').zeros(3)"])
def test_plain_data_load_no_library(data: str) -> None:
    assert not loaded(release(data)) & LIBRARIES


@pytest.mark.parametrize(
    ("library", "data"),
    [
        ("pandas", "pandas.Series([1.5, None])"),
        ("pandas", "pandas.Series([1, None], dtype='Int64')"),
        ("pandas", "pandas.Series(pandas.to_datetime(['2024-01-01', None], utc=True))"),
        ("polars", "polars.Series([1.5, None])"),
        ("polars", "polars.Series([__import__('datetime').date(2024, 1, 1), None])"),
        ("pyarrow", "pyarrow.array([1.5, None])"),
        ("pyarrow", "pyarrow.chunked_array([[1], [None]])"),
    ],
)
def test_a_column_loads_its_own_library_and_narwhals(library: str, data: str) -> None:
    own = loaded(f"import {library}\n{data}") | {"narwhals"}
    modules = loaded(f"import {library}\n{release(data)}")
    assert {library, "narwhals"} <= modules
    assert modules & LIBRARIES <= own


def test_releases_are_written_and_read_without_libraries() -> None:
    code = release("[1, 2]") + "\ndpq.Release.from_json(dpq.median([1], epsilon=1).to_json())"
    assert not loaded(code) & LIBRARIES


ARROW = "import pyarrow; pyarrow.chunked_array([[1]]).to_numpy()"
"""What brings results from engines, and all that it loads by itself."""


@pytest.mark.parametrize(
    ("library", "table", "transport"),
    [
        ("polars", "polars.LazyFrame({'x': [1.5, None]})", ""),
        ("duckdb", "duckdb.sql('SELECT 1.5 AS x')", ARROW),
        ("duckdb", "'SELECT 1.5 AS x'", ARROW),
    ],
)
def test_a_lazy_table_loads_its_own_library_alone(library: str, table: str, transport: str) -> None:
    own = loaded(f"import {library}\n{transport}") | {"narwhals"}
    named = f"import {library}\nimport dpquantiles as dpq\ndata = {table}\n"
    modules = loaded(f"{named}dpq.median(data, column='x', epsilon=1)")
    assert {library, "narwhals"} <= modules
    assert modules & LIBRARIES <= own


SOURCES = Path(dpquantiles.__file__).parent
ENGINES = ("duckdb", "polars", "pyspark", "ibis", "dask", "pandas", "pyarrow")
ALLOWED = {"pandas": {"dask"}, "polars": {"polars", "files"}}
ALLOWED |= {"pyarrow": {"memory", "units", "files", "duckdb"}}
"""Modules of sources other than its own that may import a library: Dask is made of pandas, and
what reads columns in memory and single files may use what is there."""


@pytest.mark.parametrize("library", ENGINES)
def test_a_library_is_imported_by_its_own_source_only(library: str) -> None:
    importing = {
        path.relative_to(SOURCES).with_suffix("").as_posix()
        for path in SOURCES.rglob("*.py")
        if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE)
    }
    allowed = ALLOWED.get(library, {library})
    assert importing <= {f"sources/{name}" for name in allowed}
