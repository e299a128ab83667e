"""Results: what a release hands over, as frozen values that hold public things only."""

from collections.abc import Mapping
from typing import Any

from dpquantiles.results.description import Description
from dpquantiles.results.grouped import GroupedRelease, Key
from dpquantiles.results.release import Release
from dpquantiles.results.tree import ReleasedTree

__all__ = ["Description", "GroupedRelease", "Key", "Release", "ReleasedTree"]


def from_dict(plain: Mapping[str, Any]) -> Release | GroupedRelease | Description:
    """The result that `to_dict` wrote; its fields tell which kind it is."""
    kind = GroupedRelease if "groups" in plain else Description if "columns" in plain else Release
    return kind.from_dict(plain)
