"""Results: the frozen values that a release returns; they hold only public things."""

from collections.abc import Mapping
from typing import Any

from dpquantiles.results.description import Description
from dpquantiles.results.grouped import GroupedRelease, Key
from dpquantiles.results.release import Release
from dpquantiles.results.result import Answers, Result
from dpquantiles.results.tree import ReleasedTree

__all__ = [
    "Answers",
    "Description",
    "GroupedRelease",
    "Key",
    "Release",
    "ReleasedTree",
    "Result",
    "from_dict",
]


def from_dict(plain: Mapping[str, Any]) -> Release | GroupedRelease | Description:
    """The result that `to_dict` wrote; its fields tell its kind."""
    if "groups" in plain:
        return GroupedRelease.from_dict(plain)
    return Description.from_dict(plain) if "columns" in plain else Release.from_dict(plain)
