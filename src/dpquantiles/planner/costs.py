"""What a mechanism costs on a kind of source, from public numbers: in milliseconds, roughly.

Records in memory are read in one pass and a few parts of a pass; an engine scans its table again
for each group of questions, and its answers travel to this process. On top comes the work of
drawing. JointExp walks through m windows of about

    2 R,   R = (TYPICAL m + CERTAIN) / (2 c),   c = rate / 4                                     (1)

records (see `joint_exp.py`), and does so again for each window that reaches an end of the records,
because grids of a family end in different places. RecursiveJointExp does the same on one grid, with
at most MOST_FAN cuts at a time and a rate that is divided by twice its levels. A tree does little.
The numbers were measured on one machine; only their ratios matter, and only as far as they tell
cheap from costly.
"""

import math
from typing import Literal, NamedTuple

from dpquantiles.mechanisms.fitted import (
    ALL_DRAWN,
    MOST_JOINT,
    drawn_of_many,
    few,
    few_tied,
    sparse,
)
from dpquantiles.mechanisms.recursive_joint_exp import MOST_FAN, RecursiveJointExp
from dpquantiles.privacy import Guarantee

SourceKind = Literal["memory", "engine"]
"""Where records are: in an array, or in an engine that scans them."""

TYPICAL, CERTAIN = 22.0, 44.0
"""Logarithms: of the points of a typical grid, and of one over the chance to leave a window."""

FAMILY_STEP, STEP, START = 0.0008, 0.0005, 8.0
"""The work per record of a window, on a family of grids and on one grid, and before any."""

CROWDED = 20.0

WIDER = 1.5
"""RecursiveJointExp reads its windows wider than it needs them."""

TREE = 14.0
"""The work of a tree."""

LITTLE = 20.0
"""Nobody waits for less than this, so smaller costs count as this one."""


class Reading(NamedTuple):
    """The cost of a scan per record, of a value that is fetched, and the number of scans."""

    record: float
    value: float
    most_values: float
    """Values beyond this number cost `CROWDED` times more, because they need much memory."""
    windows: float
    """Scans for windows around ranks."""
    cells: float
    """What the counts of a tree cost, in scans: two, of which the second does more per record."""
    lumps: float
    """Scans to see whether records lie in lumps."""


READING: dict[SourceKind, Reading] = {
    "memory": Reading(
        record=6e-6, value=2e-4, most_values=math.inf, windows=1.0, cells=2.5, lumps=1.0
    ),
    "engine": Reading(
        record=6e-5, value=1e-3, most_values=2.0**18, windows=2.0, cells=2.5, lumps=1.0
    ),
}


class Asked(NamedTuple):
    """The public numbers of a request: m quantiles of n records, at a rate."""

    budget: Guarantee
    m: int
    n: int
    rate: float
    family: bool
    """Whether range and rounding are unknown, so that the grid is a family."""


def cost(name: str, asked: Asked, kind: SourceKind) -> float:
    """The cost of a mechanism; infinite for one that is not among those that auto may choose."""
    return max(LITTLE, _COSTS[name](asked, READING[kind])) if name in _COSTS else math.inf


def _reach(asked: Asked, cuts: int, parts: int) -> float:
    """R of (1), with so many cuts at a time and so much less rate."""
    return (TYPICAL * cuts + CERTAIN) * 2 * parts / asked.rate


def _windows(asked: Asked, reading: Reading, reach: float, step: float, wider: float) -> float:
    """Windows around m ranks."""
    window = asked.m * min(2 * reach, asked.n)
    values = min(wider * window, asked.n)
    beyond = max(0.0, values - reading.most_values)
    scans = reading.windows * reading.record * asked.n
    return START + scans + step * window + reading.value * (values + CROWDED * beyond)


def _joint(asked: Asked, reading: Reading) -> float:
    reach = _reach(asked, asked.m, 1)
    at_ends = min(reach * (asked.m + 1) / max(asked.n, 1), asked.m)
    return _windows(asked, reading, reach, FAMILY_STEP * (1 + at_ends), 1.0)


def _recursive(asked: Asked, reading: Reading) -> float:
    levels = RecursiveJointExp.parts(asked.m)
    if levels == 1:
        return _joint(asked, reading)
    return _windows(asked, reading, _reach(asked, MOST_FAN, 2 * levels), STEP, WIDER)


def _tree(asked: Asked, reading: Reading) -> float:
    return TREE + reading.cells * reading.record * asked.n


def _fitted(asked: Asked, reading: Reading) -> float:
    """Its question, and what it leads to: the dearer mechanism for few quantiles.

    Where only tied records lead to a JointExp of all quantiles, the mean of it and of what others
    lead to: a tree, or a JointExp of some.
    """
    lumps, tree = reading.lumps * reading.record * asked.n, _tree(asked, reading)
    if asked.m <= few(asked.n, asked.budget):
        joint = _joint if asked.m <= MOST_JOINT else _recursive
        return lumps + max(tree, joint(asked, reading))
    usual = tree
    if asked.family and sparse(asked.n, asked.budget):
        drawn = drawn_of_many(asked.n, asked.budget) if asked.m > ALL_DRAWN else asked.m
        usual = _joint(asked._replace(m=drawn), reading)
    if asked.family and asked.m <= few_tied(asked.n, asked.budget):
        return lumps + (usual + _joint(asked, reading)) / 2
    return lumps + usual


_COSTS = {
    "joint_exp": _joint,
    "recursive_joint_exp": _recursive,
    "fitted": _fitted,
    "adaptive_tree": _tree,
    "agg_tree": _tree,
}
