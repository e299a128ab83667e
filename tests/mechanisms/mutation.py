"""Mutants: how a function is broken, wherever it has been imported, and how that is noticed."""

import inspect
import textwrap
from collections.abc import Callable
from functools import cache
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


def check_caught(
    mutate: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[], None],
    patch: pytest.MonkeyPatch,
) -> None:
    """The check passes as things are and fails for the broken copy."""
    _passes(check)
    mutate(patch)
    with pytest.raises(AssertionError):
        check()


@cache
def _passes(check: Callable[[], None]) -> None:
    """Once is enough for all the mutants that a check has to catch."""
    check()


def _plain(function: Any) -> Any:
    """What decorators stand around."""
    if isinstance(function, property):
        return function.fget
    return inspect.unwrap(getattr(function, "__func__", function))
