"""A mutant: one piece of a function's text replaced, wherever the function has been imported."""

import inspect
import textwrap
from typing import Any

import pytest


def mutate(patch: pytest.MonkeyPatch, function: Any, old: str, new: str) -> None:
    """Replace the only piece of this text in a function, a method or a property."""
    plain = _plain(function)
    text = textwrap.dedent(inspect.getsource(plain))
    assert text.count(old) == 1, "the text must be there once"
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{text.replace(old, new)}", plain.__globals__, names)
    patch.setattr(plain, "__code__", _plain(names[plain.__name__]).__code__)


def _plain(function: Any) -> Any:
    """What decorators stand around."""
    if isinstance(function, property):
        return function.fget
    return inspect.unwrap(getattr(function, "__func__", function))
