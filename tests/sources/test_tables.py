"""Small results as frames of the library that the data came from."""

import datetime as dt
import tomllib
from pathlib import Path

import pytest

from dpquantiles.sources import tables


def test_every_library_of_results_has_its_extra() -> None:
    """Where one is missing, the message names the extra that installs it."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert set(tables.BACKENDS) <= set(project["project"]["optional-dependencies"])


def test_a_name_is_kept_apart_from_those_that_are_taken() -> None:
    assert tables.free_name("q", {"q", "q_"}) == "q__"


def test_other_libraries_are_refused() -> None:
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', "):
        tables.frame({"q": [0.5]}, "numpy")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "values", [(-1, 2**80), (0, -(2**70)), (0, 2**63), (0, 2**64 - 1), (-1, 2**63), (-(2**63), 5)]
)
def test_whole_numbers_of_any_size_are_held_exactly(backend: str, values: tuple[int, int]) -> None:
    pytest.importorskip(backend)
    column = tables.frame({"value": values}, backend)["value"]
    held = column.to_pylist() if backend == "pyarrow" else column.to_list()
    assert [int(value) for value in held] == list(values)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_longest_times_have_a_frame(backend: str) -> None:
    ends = [dt.timedelta(microseconds=-(2**63) + 1), dt.timedelta(0)]
    assert len(tables.frame({"v": ends}, backend)) == 2
