"""What is promised cannot be changed afterwards: values are frozen, and parameters have names.

And what must have one length is never cut to it.
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("privacy", "mechanisms", "kernels", "intervals")
BY_PLACE = {"Intervals", "Walks"}
"""Values that are checked when they are made, and may still be made without names."""


def values() -> Iterator[Any]:
    """All dataclasses of the packages."""
    for package in PACKAGES:
        name = f"dpquantiles.{package}"
        folder = importlib.import_module(name).__path__
        for found in pkgutil.walk_packages(folder, f"{name}."):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                here = getattr(value, "__module__", "") == module.__name__
                if here and inspect.isclass(value) and dataclasses.is_dataclass(value):
                    yield value


@pytest.mark.parametrize("value", list(values()), ids=lambda value: value.__qualname__)
def test_values_are_frozen_and_parameters_have_names(value: Any) -> None:
    assert value.__dataclass_params__.frozen
    if hasattr(value, "__post_init__") and value.__name__ not in BY_PLACE:
        assert all(one.kw_only for one in dataclasses.fields(value))


def loose(text: str) -> list[int]:
    """The lines of a program in which `zip` would cut what is longer."""
    return [
        call.lineno
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "zip"
        if [ast.unparse(word) for word in call.keywords] != ["strict=True"]
    ]


@pytest.mark.parametrize("package", [*PACKAGES, "ledger"])
def test_what_is_paired_has_one_length(package: str) -> None:
    (folder,) = importlib.import_module(f"dpquantiles.{package}").__path__
    texts = {path.name: path.read_text("utf-8") for path in Path(folder).rglob("*.py")}
    assert len(texts) > 2
    assert not {name: loose(text) for name, text in texts.items() if loose(text)}
    assert loose("zip(a, b)\nzip(a, b, strict=False)\nzip(a, b, strict=True)") == [1, 2]
