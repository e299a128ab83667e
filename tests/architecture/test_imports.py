"""What is loaded when: nothing that was not asked for, seen from fresh processes."""

import json
import subprocess
import sys

import pytest

LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "typer", "rich", "matplotlib", "scipy"}


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
