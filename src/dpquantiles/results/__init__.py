"""Results: what a release hands over, as frozen values that hold public things only."""

from dpquantiles.results.description import Description
from dpquantiles.results.grouped import GroupedRelease, Key
from dpquantiles.results.release import Release
from dpquantiles.results.tree import ReleasedTree

__all__ = ["Description", "GroupedRelease", "Key", "Release", "ReleasedTree"]
