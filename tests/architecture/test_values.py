"""What is promised cannot be changed afterwards: values are frozen, and parameters have names."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

PACKAGES = ("privacy", "mechanisms", "kernels", "intervals")
BY_PLACE = {"Intervals", "Walks"}
"""Values that are checked when they are made, and may still be made without names."""


def values() -> Iterator[Any]:
    """All dataclasses of the packages."""
    for package in PACKAGES:
        folder = importlib.import_module(f"dpquantiles.{package}").__path__
        for found in pkgutil.iter_modules(folder):
            module = importlib.import_module(f"dpquantiles.{package}.{found.name}")
            for value in vars(module).values():
                here = getattr(value, "__module__", "") == module.__name__
                if here and inspect.isclass(value) and dataclasses.is_dataclass(value):
                    yield value


@pytest.mark.parametrize("value", list(values()), ids=lambda value: value.__qualname__)
def test_values_are_frozen_and_parameters_have_names(value: Any) -> None:
    assert value.__dataclass_params__.frozen
    if hasattr(value, "__post_init__") and value.__name__ not in BY_PLACE:
        assert all(one.kw_only for one in dataclasses.fields(value))
