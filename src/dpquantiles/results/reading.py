"""Answers that are read off a tree: where they lie in their leaf.

On a single grid, answers are spread evenly over the steps of a leaf. Where trees look for the
numbers that people write (`grid/ruler.py`),

    spread    answers are spread evenly over the numbers of a leaf
    spikes    in a leaf far denser than both its neighbors, records are probably tied, and people
              tie on round numbers: the answer is the number of fewest digits there

All of this is computed from released counts, so it costs nothing.
"""

import numpy as np
from numpy.typing import NDArray

from dpquantiles.grid import FloatGrid, Grid, UniformGrid, decimal_base, nearest
from dpquantiles.kernels import tree
from dpquantiles.kernels.algebra import Floats

Base = FloatGrid | UniformGrid
Ints = NDArray[np.int64]

SPIKE = 8.0
"""A leaf that is so many times denser than its neighbors is a spike."""

NOISE = 0.25
"""A neighbor counts as if it had this part of the mean mass more: its own may be lost in noise."""

FAR = 2.0**62
"""Beyond this, where doubles run out of digits, answers are spread over steps."""

FINE = 2.0**-8
"""Answers inside a leaf are rounded to powers of ten of about this part of it."""

POWERS = range(18, -13, -1)
"""The powers of ten that round numbers are multiples of, the roundest first."""


@np.errstate(all="ignore")  # the density of a leaf can be too large, or too small, for a double
def answers(grid: Grid, masses: Floats, edges: Ints, q: Floats) -> Ints:
    """The steps at ascending quantiles, for the masses of leaves with these edges."""
    leaf, inside = tree.places(masses, edges, q)
    steps = tree.inside_leaves(edges, leaf, inside)
    base = decimal_base(grid)
    if base is not None:
        steps = _read(base, edges, leaf, inside, steps)
        spiked = _spikes(base, masses, edges)[leaf]
        steps[spiked] = _roundest(base, edges[leaf[spiked]], edges[leaf[spiked] + 1])
    return np.maximum.accumulate(steps)


def _read(base: Base, edges: Ints, leaf: Ints, inside: Floats, steps: Ints) -> Ints:
    """Answers that are spread over the numbers of their leaves, with few digits."""
    low, high = (ends[leaf] for ends in _ends(base, edges))
    usual = np.maximum(np.abs(low), np.abs(high)) <= FAR
    width = (high - low)[usual]
    number = _shortened(low[usual] + inside[usual] * width, width * FINE)
    first, end = edges[leaf[usual]], edges[leaf[usual] + 1]
    steps[usual] = np.clip(base.encode(number), first, end - 1)
    return steps


def _spikes(base: Base, masses: Floats, edges: Ints) -> NDArray[np.bool_]:
    """Which leaves are far denser than both their neighbors; those without steps do not count."""
    low, high = _ends(base, edges)
    full = np.flatnonzero(np.diff(edges) > 0)
    width = np.maximum(high / 2 - low / 2, np.finfo(float).tiny)[full]
    dense = masses[full] / width
    noisy = dense + NOISE * masses.sum() / len(full) / width
    around = np.concatenate([[0.0], noisy, [0.0]])
    spikes = np.zeros(len(masses), dtype=bool)
    spikes[full] = dense > SPIKE * np.maximum(around[:-2], around[2:])
    return spikes


def _roundest(base: Base, first: Ints, end: Ints) -> Ints:
    """The number of fewest digits among steps first .. end - 1, nearest to their middle."""
    low, high = (base.numbers(steps).astype(np.float64) for steps in (first, end - 1))
    middle, found = low / 2 + high / 2, first + (end - first) // 2
    left = np.maximum(np.abs(low), np.abs(high)) <= FAR
    for power in POWERS:
        step = base.encode(nearest(middle, power))
        meets = left & (first <= step) & (step < end)
        found[meets] = step[meets]
        left &= ~meets
    return found


def _shortened(numbers: Floats, widths: Floats) -> Floats:
    """Numbers rounded to the largest powers of ten that are not above these widths."""
    powers = np.floor(np.log10(np.maximum(widths, 10.0 ** POWERS[-1])))
    short = numbers.copy()
    for power in np.unique(powers).tolist():
        some = powers == power
        short[some] = nearest(numbers[some], int(power))
    return short


def _ends(base: Base, edges: Ints) -> tuple[Floats, Floats]:
    """The numbers between which each leaf lies; a single step has a width, too."""
    numbers = base.numbers(edges).astype(np.float64)
    return numbers[:-1], numbers[1:]
