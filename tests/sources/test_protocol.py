"""Every engine is a class that implements the whole protocol, and the contract runs over it."""

import inspect
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dpquantiles.sources.engine import ENGINES, Engine
from tests.conftest import require_library
from tests.sources.origins import LAZY

PLACES = sorted(set(ENGINES.values()))
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def engine_class(place: str) -> type[Engine]:
    module, name = place.split(".")
    require_library(module, module)
    found: type[Engine] = getattr(import_module(f"dpquantiles.sources.{module}"), name)
    return found


def public(owner: Any) -> dict[str, Any]:
    methods = inspect.getmembers(owner, inspect.isfunction)
    return {name: method for name, method in methods if not name.startswith("_")}


@pytest.mark.parametrize("place", PLACES)
def test_an_engine_implements_the_whole_protocol(place: str) -> None:
    engine = engine_class(place)
    assert issubclass(engine, Engine)
    assert not inspect.isabstract(engine)
    assert all(isinstance(word, str) for word in (engine.name, engine.extra, engine.backend))
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert engine.extra in extras


@pytest.mark.parametrize("place", PLACES)
def test_methods_take_what_the_protocol_says(place: str) -> None:
    """And what an engine has beyond it, its base class has written down."""
    engine = engine_class(place)
    for base in engine.__mro__[1:-2]:
        for name, method in public(base).items():
            own = inspect.signature(getattr(engine, name))
            assert list(own.parameters) == list(inspect.signature(method).parameters), name
    written = {name for base in engine.__mro__[1:] for name in public(base)}
    assert set(public(engine)) <= written


def test_the_protocol_is_written_down() -> None:
    for base in {base for place in PLACES for base in engine_class(place).__mro__[1:-2]}:
        undocumented = [name for name, method in public(base).items() if not inspect.getdoc(method)]
        assert not undocumented


def test_the_contract_runs_over_every_engine() -> None:
    assert set(LAZY.values()) == set(ENGINES.values())
