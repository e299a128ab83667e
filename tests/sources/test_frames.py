"""Small results as frames of the library that the data came from."""

import tomllib
from pathlib import Path

import pytest

from dpquantiles.sources import frames


def test_every_library_of_results_has_its_extra() -> None:
    """Where one is missing, the message names the extra that installs it."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert set(frames.BACKENDS) <= set(project["project"]["optional-dependencies"])


def test_a_name_is_kept_apart_from_those_that_are_taken() -> None:
    assert frames.free_name("q", {"q", "q_"}) == "q__"


def test_other_libraries_are_refused() -> None:
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', "):
        frames.frame({"q": [0.5]}, "numpy")
