"""Narwhals, which is loaded when a name of it is first used: lists and arrays need no library."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narwhals.stable.v2 import *  # noqa: F403


def __getattr__(name: str) -> Any:
    value = globals()[name] = getattr(import_module("narwhals.stable.v2"), name)
    return value
