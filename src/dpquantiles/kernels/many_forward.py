"""The forward pass of JointExp for many data sets at once, one per column.

The masses are those of `joint`, equations (6) to (8) of `mechanisms/joint_exp.md`, but rows are
ranks instead of errors: row r of step k is the error r - T_k. So columns can have different targets
while a gap stays in its row. Masses are doubles. Releases choose a unit in which no mass that
matters can overflow or underflow; plans rescale every step.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpquantiles.kernels.algebra import Algebra, Floats
from dpquantiles.kernels.places import Places

Ints = NDArray[np.int64]

BLOCK = 8
"""So many rows are added up one after the other."""

SMALLEST_UNIT = 1e-300
"""The smallest divisor of masses, for columns that underflow completely."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Small data sets, one per column, and the windows in which their answers count."""

    places: Places
    """Row i is the cut between the i-th smallest record and the next."""
    n: Ints
    targets: Ints
    """Row k has the target of answer k + 1 in every column."""
    start: Ints
    stop: Ints
    """The first and the last error of the axis of every column."""

    @property
    def steps(self) -> int:
        """The number of answers."""
        return len(self.targets)

    def rows(self, k: int) -> range:
        """The ranks on the axis of step k (1 .. m) in any column."""
        first = int((self.targets[k - 1] + self.start).min())
        last = int((self.targets[k - 1] + self.stop).max())
        return range(max(0, first), min(int(self.n.max()), last) + 1)


class Factors(NamedTuple):
    """The factors s**0, s**1, ... in `fall`, and their inverses for one run in `rise`."""

    one: float
    fall: Floats
    rise: Floats

    @classmethod
    def of(cls, rate: float, columns: Columns, algebra: Algebra) -> "Factors":
        """The factors for all distances of a pass, with s = exp(-rate)."""
        run = algebra.run_length(rate)
        farthest = int(columns.n.max()) + int(columns.targets.max()) + 2
        distance = rate * np.arange(max(farthest, run + 1), dtype=np.float64)
        return cls(algebra.one, algebra.factor(distance), algebra.factor(-distance[:run]))

    def apart(self, errors: Ints) -> Floats:
        """The factors of errors of either sign; larger errors count as the largest distance."""
        sides = np.concatenate([self.fall[:0:-1], self.fall])
        return sides.take(errors + (len(self.fall) - 1), mode="clip")


class Step(NamedTuple):
    """The masses of one step, starting at rank `first`; names are those of `joint.Masses`."""

    first: int
    total: Floats
    upper: Floats
    gap: Floats
    lower: Floats
    entering: Floats
    unit: Floats | None
    """The divisor of the masses of every column at this step."""


def forward(columns: Columns, factors: Factors, *, rescaled: bool = False) -> list[Step]:
    """The masses of steps 1 .. m.

    If `rescaled`, the masses of every step and column are divided by the largest one. Then they
    never overflow, but small ones underflow, which is good enough for plans.
    """
    places = Places(*(array.astype(np.float64) for array in columns.places))
    growth = [(places.free + (j - 1)) / j for j in range(2, columns.steps + 1)]
    copies: list[Floats] = []
    steps: list[Step] = []
    for k in range(1, columns.steps + 1):
        rows = columns.rows(k)
        if k == 1:
            down, up, up_before, stay = _from_start(columns, rows, factors)
        else:
            down, up, up_before, stay = _from_step(columns, k, rows, steps[-1], factors)
        here = Places(*(array[rows.start : rows.stop] for array in places))
        entering = up_before * factors.fall[1]
        entering += down
        _cut(entering, columns, k, rows)
        fade = factors.fall[_advance(columns, k)]
        gap = _gap(copies, entering * here.free, growth, fade, rows, steps)
        down *= here.ends
        up *= here.begins
        stay *= here.interior
        for mass in (down, gap, up, stay):
            _cut(mass, columns, k, rows)
        total = down + gap
        total += up
        total += stay
        unit = None
        if rescaled:
            unit = np.maximum(total.max(axis=0), SMALLEST_UNIT)
            for mass in (total, down, gap, up, entering, *copies):
                mass /= unit
        steps.append(Step(rows.start, total, down, gap, up, entering, unit))
    return steps


def _advance(columns: Columns, k: int) -> Ints:
    """The advance t of the target at step k, in every column; once if it is the same in all."""
    before: Ints = columns.targets[k - 2] if k > 1 else np.zeros_like(columns.n)
    advance: Ints = columns.targets[k - 1] - before
    return advance if (advance != advance[0]).any() else advance[:1]


def _cut(mass: Floats, columns: Columns, k: int, rows: range) -> None:
    """Remove mass outside the windows; only columns with a shorter axis than the rows have any."""
    first, last = (columns.targets[k - 1] + end for end in (columns.start, columns.stop))
    head, tail = int(first.max()), int(last.min()) + 1
    if head > rows.start:
        ranks = np.arange(rows.start, min(head, rows.stop))[:, None]
        mass[: len(ranks)][ranks < first] = 0.0
    if tail < rows.stop:
        ranks = np.arange(max(tail, rows.start), rows.stop)[:, None]
        mass[len(mass) - len(ranks) :][ranks > last] = 0.0


Sources = tuple[Floats, Floats, Floats, Floats]
"""By rank: U, P, P one rank before, and the mass that keeps its error."""


def _from_start(columns: Columns, rows: range, factors: Factors) -> Sources:
    """What comes from the start: a unit mass at error 0 before all grid points."""
    errors = np.arange(rows.start, rows.stop)[:, None] - columns.targets[0]
    mass = factors.one * factors.apart(errors)
    before = factors.one * factors.fall[np.clip(errors - 1, 0, len(factors.fall) - 1)]
    return (
        np.where(errors <= 0, mass, 0.0),
        np.where(errors >= 0, mass, 0.0),
        np.where(errors >= 1, before, 0.0),
        np.where(errors == 0, mass, 0.0),
    )


def _from_step(columns: Columns, k: int, rows: range, before: Step, factors: Factors) -> Sources:
    """(6): what comes from the masses of step k - 1."""
    advance = _advance(columns, k)
    mass, missing = before.total, rows.stop - before.first - len(before.total)
    if missing:
        mass = np.concatenate([mass, np.zeros((missing, mass.shape[1]))])
    skipped = rows.start - before.first
    down = _window(mass, advance, factors.fall)[skipped:]
    shared = len(before.upper) - skipped
    if shared > 0:
        down[:shared] += before.upper[skipped:] * factors.fall[advance]
    reached = _lag(_prefix(mass, factors), advance, skipped - 1)
    return down, reached[1:], reached[:-1], _lag(mass, advance, skipped)


def _window(mass: Floats, advance: Ints, fall: Floats) -> Floats:
    """sum over j = 1 .. t of mass[r - j] s**(t - j), where t is the advance of each column.

    Windows of lengths a and b combine to one of length a + b, so every length is made of powers of
    two. This needs no differences of sums, and one pass per binary digit of the advance.
    """
    block, spare = np.empty_like(mass), np.empty_like(mass)
    block[:1], block[1:] = 0.0, mass[:-1]
    sums, length = np.zeros(mass.shape), np.zeros_like(advance)
    # A window that is longer than all rows only fades.
    beyond = np.maximum(advance - len(mass), 0)
    advance, size = advance - beyond, 1
    while True:
        wanted = (advance & size) > 0
        if wanted.any():
            np.multiply(block, fall[length], out=spare)
            spare[size:] += sums[:-size] if size < len(sums) else 0.0
            if wanted.all():
                sums, spare = spare, sums
            else:
                np.copyto(sums, spare, where=wanted)
            length = length + size * wanted
        if 2 * size > int(advance.max()):
            return sums * fall[beyond] if beyond.any() else sums
        np.multiply(block, fall[size], out=spare)
        spare[size:] += block[:-size]
        block, spare, size = spare, block, 2 * size


def _prefix(mass: Floats, factors: Factors) -> Floats:
    """sum over r' <= r of mass[r'] s**(r - r'), in runs so that nothing overflows."""
    sums, run = np.empty_like(mass), len(factors.rise)
    for start in range(0, len(mass), run):
        part = sums[start : start + run]
        np.multiply(mass[start : start + run], factors.rise[: len(part), None], out=part)
        _accumulate(part)
        part *= factors.fall[: len(part), None]
        if start:
            part += sums[start - 1] * factors.fall[1 : len(part) + 1, None]
    return sums


def _accumulate(mass: Floats) -> None:
    """Add to every row all rows before it: in short blocks, all at once, and then block by block.

    NumPy's own way goes down one column after the other, which takes three times as long.
    """
    whole = len(mass) - len(mass) % BLOCK
    blocks = mass[:whole].reshape(whole // BLOCK, BLOCK, mass.shape[1])
    for row in range(1, BLOCK):
        blocks[:, row] += blocks[:, row - 1]
    if len(blocks) > 1:
        ends = blocks[:, -1].copy()
        _accumulate(ends)
        blocks[1:] += ends[:-1, None]
    for row in range(max(1, whole), len(mass)):
        mass[row] += mass[row - 1]


def _lag(mass: Floats, advance: Ints, first: int) -> Floats:
    """Row i has the mass at row first + i - t of each column, t its advance; zero before row 0.

    Columns move by the least advance together, and then by one more binary digit at a time.
    """
    least = int(advance.min())
    more = advance - least
    digits = int(more.max()).bit_length()
    # Each digit costs as many of the first rows as it may move the others.
    spare = (1 << digits) - 1
    start, rows = first - least - spare, len(mass) - first + spare
    zeros, skipped = min(max(0, -start), rows), max(0, start)
    moved = np.empty((rows, mass.shape[1]))
    moved[:zeros], moved[zeros:] = 0.0, mass[skipped : skipped + rows - zeros]
    for size in (1 << digit for digit in range(digits)):
        moved = np.where((more & size) > 0, moved[:-size], moved[size:])
    return moved


def _gap(
    copies: list[Floats],
    single: Floats,
    growth: list[Floats],
    fade: Floats,
    rows: range,
    steps: list[Step],
) -> Floats:
    """G of (8); `copies` has its terms, entry j - 1 for j copies, and is advanced by one step.

    j copies come from j - 1 copies at the previous step. Their rank stays, their error falls by the
    advance, and C(w + j - 1, j) = C(w + j - 2, j - 1) (w + j - 1) / j.
    """
    skipped = rows.start - steps[-1].first if steps else 0
    copies[:] = [term[skipped:] for term in copies if len(term) > skipped]
    mass = single.copy()
    for term, grown in zip(copies, growth[: len(copies)], strict=True):
        term *= fade
        term *= grown[rows.start :][: len(term)]
        mass[: len(term)] += term
    copies.insert(0, single)
    return mass
