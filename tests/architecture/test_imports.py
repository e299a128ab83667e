"""What is loaded when: nothing that was not asked for, seen from fresh processes."""

import ast
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpquantiles

LIBRARIES = {"pandas", "polars", "pyarrow", "narwhals", "typer", "rich", "matplotlib", "scipy"}
LIBRARIES |= {"duckdb", "pyspark", "ibis", "dask"}


def all_loaded(code: str) -> set[str]:
    """The modules of a fresh process that ran this code."""
    show = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-W", "error", "-c", f"{code}\n{show}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded(code: str) -> set[str]:
    """The top-level modules among them."""
    return {name.split(".")[0] for name in all_loaded(code)}


def release(data: str) -> str:
    return f"import dpquantiles as dpq\nassert len(dpq.median({data}, epsilon=1).values) == 1"


def test_importing_loads_next_to_nothing() -> None:
    modules = all_loaded("import dpquantiles")
    own = {name for name in modules if name.startswith("dpquantiles")}
    assert own == {"dpquantiles", "dpquantiles.forking", "dpquantiles.version"}
    assert not modules & {"numpy", *LIBRARIES}


def test_a_first_release_loads_no_ledger_no_plans_no_audits_and_no_drawings() -> None:
    modules = all_loaded(release("[1, 2.5, None]"))
    assert {"numpy", "dpquantiles.run", "dpquantiles.planner.choice"} <= modules
    others = {"ledger", "auditing", "present", "cli", "planner.plans", "planner.needs"}
    assert not modules & {"sqlite3", *(f"dpquantiles.{name}" for name in others)}


def test_the_version_loads_no_command() -> None:
    modules = all_loaded("from dpquantiles.cli import main\nassert main(['--version']) == 0")
    assert "dpquantiles.cli.app" in modules
    commands = {f"dpquantiles.cli.{name}" for name in ("release", "plan", "ledger", "about")}
    assert not modules & {"numpy", "dpquantiles.api", *commands}


def test_a_command_loads_no_other_command() -> None:
    modules = all_loaded("from dpquantiles.cli import main\nassert main(['release', '-h']) == 0")
    assert "dpquantiles.cli.release" in modules
    commands = {f"dpquantiles.cli.{name}" for name in ("show", "plan", "studio", "ledger", "about")}
    assert not modules & {"dpquantiles.auditing", *commands}


PLACES: dict[str, tuple[str, ...]] = vars(dpquantiles)["_PLACES"]


def test_names_that_load_are_those_that_type_checkers_see() -> None:
    tree = ast.parse(Path(dpquantiles.__file__).read_text("utf-8"))
    seen = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in seen.body if isinstance(node, ast.ImportFrom)]
    assert {
        str(node.module).removeprefix("dpquantiles."): tuple(name.name for name in node.names)
        for node in imports
    } == PLACES
    names = {name for names in PLACES.values() for name in names}
    assert {*names, "__version__"} == set(dpquantiles.__all__)


@pytest.mark.parametrize("place", PLACES)
def test_a_name_loads_what_it_needs_when_it_is_first_used(place: str) -> None:
    listed = ", ".join(PLACES[place])
    all_loaded(
        f"import dpquantiles\nfrom dpquantiles import {listed}\n"
        f"import dpquantiles.{place} as place\n"
        f"for name in {PLACES[place]!r}:\n"
        "    assert name in dir(dpquantiles)\n"
        "    assert getattr(dpquantiles, name) is getattr(place, name)"
    )


def test_all_names_can_be_imported_at_once_and_modules_be_named() -> None:
    all_loaded(
        "from dpquantiles import *\nimport dpquantiles as dpq\n"
        "assert all(globals()[name] is getattr(dpq, name) for name in dpq.__all__)"
    )
    all_loaded("import dpquantiles as dpq\ndpq.privacy.total([dpq.PureDP(epsilon=1)])")


def test_values_are_unpickled_where_nothing_was_loaded() -> None:
    made = dpquantiles.median([1, 2], epsilon=1)
    values = (made, made.guarantee, dpquantiles.Neighbors.SWAP, dpquantiles.UniformGrid(0, 9))
    all_loaded(
        f"import dpquantiles, pickle\nvalues = pickle.loads({pickle.dumps(values)!r})\n"
        "assert isinstance(values[0], dpquantiles.Release)"
    )


def test_threads_may_use_the_package_first_at_the_same_time() -> None:
    all_loaded(
        "import threading, dpquantiles as dpq\n"
        "names = dpq.__all__ + ['privacy', 'kinds', 'by_group']\n"
        "found, start = [], threading.Barrier(len(names))\n"
        "def use(name):\n"
        "    start.wait()\n"
        "    found.append(getattr(dpq, name))\n"
        "threads = [threading.Thread(target=use, args=(name,)) for name in names]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert len(found) == len(names)"
    )


def test_other_names_are_missing_and_missing_libraries_are_named() -> None:
    for name in ("quantils", "_quantiles", "__wrapped__"):
        with pytest.raises(AttributeError, match=rf"^module 'dpquantiles' has no .* '{name}'$"):
            getattr(dpquantiles, name)
    for name in ("median", "kinds"):
        all_loaded(
            "import sys\nsys.modules['numpy'] = None\nimport dpquantiles\n"
            f"try:\n    dpquantiles.{name}\n"
            "except ModuleNotFoundError as error:\n    assert error.name == 'numpy'\n"
            "else:\n    raise SystemExit('numpy was not missed')"
        )


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


ROWS = "(VALUES (1, 1.5, DATE '2024-01-02'), (2, NULL, NULL)) AS t(k, x, d)"


@pytest.mark.parametrize(
    ("library", "table", "asked", "transport"),
    [
        ("polars", "polars.LazyFrame({'x': [1.5, None]})", "column='x'", ""),
        ("duckdb", "duckdb.sql('SELECT 1.5 AS x')", "column='x'", "import pyarrow"),
        ("duckdb", "'SELECT 1.5 AS x'", "column='x'", "import pyarrow"),
        ("duckdb", f'"FROM {ROWS}"', "column='d'", "import pyarrow"),
        ("duckdb", f'"FROM {ROWS}"', "column='x', unit='k'", "import pyarrow"),
        ("duckdb", f'"FROM {ROWS}"', "column='x', by='k', keys=[1, 2]", "import pyarrow"),
    ],
)
def test_a_lazy_table_loads_its_own_library_alone(
    library: str, table: str, asked: str, transport: str
) -> None:
    own = loaded(f"import {library}\n{transport}") | {"narwhals"}
    named = f"import {library}\nimport dpquantiles as dpq\ndata = {table}\n"
    modules = loaded(f"{named}dpq.median(data, {asked}, epsilon=1)")
    assert {library, "narwhals"} <= modules
    assert modules & LIBRARIES <= own


SOURCES = Path(dpquantiles.__file__).parent
ENGINES = ("duckdb", "polars", "pyspark", "ibis", "dask", "pandas", "pyarrow")
ALLOWED = {"pandas": {"dask", "meeting"}, "polars": {"polars", "parquet_files"}}
ALLOWED |= {"pyarrow": {"memory", "meeting", "units", "parquet_files", "duckdb"}}
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
