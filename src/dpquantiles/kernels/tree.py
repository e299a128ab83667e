"""Counts on a balanced tree: their sums, consistency, and the masses of leaves.

`levels` are arrays of counts, from the children of the root down to the leaves. Level l of a tree
with branching b has b**l nodes, and node v has the children b v .. b v + b - 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels.algebra import Floats

Levels = Sequence[NDArray[np.int64]]

FAINT_SHARE = 0.005
"""In `shared`, a child with a smaller share of the sum of all siblings counts as empty."""


def edges(points: int, leaves: int) -> NDArray[np.int64]:
    """The first step of every leaf, and the end of the last one; widths differ by at most one."""
    return np.array([leaf * points // leaves for leaf in range(leaves + 1)], dtype=np.int64)


def sums(leaves: NDArray[np.int64], branching: int, height: int) -> list[NDArray[np.int64]]:
    """The counts of all levels from those of the leaves."""
    levels = [leaves]
    for _ in range(height - 1):
        levels.insert(0, levels[0].reshape(-1, branching).sum(axis=1))
    return levels


def consistent(levels: Levels, branching: int, total: int | None) -> list[Floats]:
    """The least-squares counts whose children add up to their parents, and all to `total`.

    The noise must have the same variance everywhere. Going up, a node of height l (leaves have 1)
    averages its own count and the sum of its children, with weights b^l - b^(l-1) and b^(l-1) - 1.
    Going down, the difference between a node and the sum of its children is spread equally over
    them. Hay, Rastogi, Miklau, Suciu (arXiv 0904.0942v5), Theorem 3.
    """
    upward = [levels[-1].astype(np.float64)]
    for above, own in enumerate(reversed(levels[:-1]), start=2):
        power, less = float(branching) ** above, float(branching) ** (above - 1)
        below = upward[0].reshape(-1, branching).sum(axis=1)
        upward.insert(0, ((power - less) * own + (less - 1) * below) / (power - 1))
    parents = np.array([upward[0].sum() if total is None else float(total)])
    consistent_levels = []
    for counts in upward:
        children = counts.reshape(-1, branching)
        lack = (parents - children.sum(axis=1)) / branching
        parents = (children + lack[:, None]).ravel()
        consistent_levels.append(parents)
    return consistent_levels


def projected(levels: Sequence[Floats], branching: int) -> Floats:
    """Masses of the leaves: the nearest counts that are not negative, level by level.

    The children of every node are projected on the nonnegative vectors that add up to the mass of
    the node (Duchi et al., ICML 2008, Figure 1).
    """
    parents = np.array([max(0.0, float(levels[0].sum()))])
    for counts in levels:
        children = counts.reshape(-1, branching)
        down = -np.sort(-children, axis=1)
        excess = (np.cumsum(down, axis=1) - parents[:, None]) / np.arange(1, branching + 1)
        kept = np.maximum(1, (down > excess).sum(axis=1))
        parents = np.maximum(0.0, children - excess[np.arange(len(kept)), kept - 1, None]).ravel()
    return parents


def shared(levels: Levels, branching: int) -> Floats:
    """Masses of the leaves: every node is divided in proportion to the counts of its children.

    Negative and faint counts are treated as zero. If all children are zero, the node is divided
    evenly.
    """
    parents = np.array([1.0])
    for counts in levels:
        children = np.maximum(0.0, counts.reshape(-1, branching))
        children[children < FAINT_SHARE * children.sum(axis=1, keepdims=True)] = 0.0
        children[children.sum(axis=1) == 0.0] = 1.0
        share = children / children.sum(axis=1, keepdims=True)
        parents = (parents[:, None] * share).ravel()
    return parents


def masses(levels: Levels, branching: int, total: int | None, reading: str) -> Floats:
    """Masses of the leaves: by `shared` for a "raw" reading, else by `projected`."""
    if reading == "raw":
        return shared(levels, branching)
    return projected(consistent(levels, branching, total), branching)


def inverse(masses: Floats, bounds: NDArray[np.int64], q: Floats) -> NDArray[np.int64]:
    """The steps at ascending quantiles, by linear interpolation inside a leaf."""
    return np.maximum.accumulate(inside_leaves(bounds, *places(masses, bounds, q)))


def places(
    masses: Floats, bounds: NDArray[np.int64], q: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """The leaves of ascending quantiles, and which part of its mass lies before each.

    Leaves without grid points get no mass. If there is no mass at all, it is spread evenly.
    """
    width = np.diff(bounds)
    mass = np.where(width > 0, masses, 0.0)
    mass = mass if mass.sum() > 0 else width.astype(np.float64)
    full = np.flatnonzero(mass > 0)
    through = np.cumsum(mass[full])
    target = q * through[-1]
    place = np.minimum(np.searchsorted(through, target, side="left"), len(full) - 1)
    leaf = full[place]
    inside = (target - (through[place] - mass[leaf])) / mass[leaf]
    return leaf, np.clip(inside, 0.0, 1.0)


def inside_leaves(
    bounds: NDArray[np.int64], leaf: NDArray[np.int64], inside: Floats
) -> NDArray[np.int64]:
    """Steps at these parts of leaves."""
    width = np.diff(bounds)[leaf]
    offset = np.floor(inside * width).astype(np.int64)
    return np.asarray(bounds[leaf] + np.minimum(offset, width - 1))
