"""JointExp on many groups at once: each group has its own law, and the work is shared.

Small groups of similar size pass through the kernels together, one per column. Groups that are
large, or whose masses do not fit in doubles, are drawn one by one, which is faster for them. Proof:
`joint_exp_groups.md` beside this file.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid, GridFamily, Multiples, Singles
from dpquantiles.intervals import MeasuredRanks
from dpquantiles.kernels import many_draws
from dpquantiles.kernels.algebra import Floats, ScaledDoubles
from dpquantiles.kernels.many_backward import Walks
from dpquantiles.kernels.many_draws import Bools
from dpquantiles.kernels.many_forward import Columns, Factors, Step, forward
from dpquantiles.kernels.places import End, Places
from dpquantiles.kernels.scans import scan_depth
from dpquantiles.mechanisms import joint_exp_family
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_law import Setting
from dpquantiles.mechanisms.mechanism import target_ranks
from dpquantiles.privacy import Neighbors
from dpquantiles.views import AnyGroups, Groups
from dpquantiles.views.protocol import Ints

CELLS = 1 << 16
"""The most ranks, over all columns, that pass through the kernels together: they fit the cache."""

ALIKE, SLACK = 1.25, 16
"""Groups pass together if the largest has at most SLACK + ALIKE times the smallest's records."""

LARGE = 4
"""Groups this many times longer than their windows are drawn one by one."""

EVIDENCE = 32
"""How many groups choose the member of a family of grids for all of them: evenly spaced ones."""

DECODED = 1 << 14
"""The most groups whose answers become values at once."""

USUAL = 1000
"""The size by which it is decided whether groups need anchors, one decision for all."""

Answers = tuple[Any, ...]


class GroupAnswers(NamedTuple):
    """The answers of every group, and its size if that is public."""

    answers: list[Answers]
    sizes: list[int | None]
    member: int | None = None
    """The member of a family of grids that serves all groups."""
    ranks: list[MeasuredRanks | None] | None = None
    """What the intervals of every group rest on, if there are any."""


GroupDraws = Callable[[Any, AnyGroups, Ints | None, Bits], GroupAnswers]


def draw_side_by_side(
    mechanism: JointExp, groups: AnyGroups, sizes: Ints | None, bits: Bits
) -> GroupAnswers:
    """One draw per group; under add-remove, sizes are given or every group buys its own.

    Sizes and the member are drawn before the answers. How groups are divided into portions depends
    on how many records they have, so it must not matter to any of these draws.
    """
    drawing = mechanism
    if mechanism.neighbors is Neighbors.SWAP:
        sizes = groups.n if groups.missing is None else groups.n + groups.missing
    elif sizes is None:
        count, drawing = mechanism.priced()
        sizes = count.draw_all(groups.n, bits) if len(groups) else np.zeros(0, dtype=np.int64)
    drawing = _sized(drawing, USUAL).anchored(USUAL, groups.grid)
    if isinstance(groups.grid, GridFamily) and drawing.member is None:
        drawing = replace(drawing, together=EVIDENCE)
        drawing = replace(drawing, member=draw_member(drawing, groups, sizes, bits))
    steps = np.empty((len(groups), len(mechanism.q)), dtype=np.int64)
    for places, drawn in _portions_drawn(drawing, groups, sizes, bits):
        steps[places] = drawn[:, : len(mechanism.q)]
    answers = _decoded(_answered(drawing, groups.grid), steps)
    return GroupAnswers(list(answers), sizes.tolist(), drawing.member)


def _portions_drawn(
    mechanism: JointExp, groups: AnyGroups, sizes: Ints, bits: Bits
) -> Iterator[tuple[Ints, Ints]]:
    """The answers of each portion, drawn in a thread of their own while the next one is read.

    Portions are drawn one after the other, so bits are drawn in the same order as without a thread.
    Large groups read while they are drawn, so nothing else is read meanwhile.
    """
    with ThreadPoolExecutor(1) as aside:
        pending: tuple[Ints, Future[Ints]] | None = None
        for places, records in groups.portions():
            if pending:
                yield pending[0], pending[1].result()
            asked = partial(draw_groups, mechanism, records, sizes[places], bits)
            pending = places, aside.submit(partial(copy_context().run, asked))
            if records.apart:
                wait([pending[1]])
        if pending:
            yield pending[0], pending[1].result()


def draw_member(mechanism: JointExp, groups: AnyGroups, sizes: Ints, bits: Bits) -> int:
    """Draw one member of a family for all groups, by the weights of some of them."""
    family: GridFamily = groups.grid  # type: ignore[assignment]
    which = evidence(len(groups))
    views = zip(sizes[which].tolist(), groups.views(which), strict=True)
    laws = [_sized(mechanism, size).law(view) for size, view in views]
    return joint_exp_family.draw_member(family.log_weights(len(mechanism.q)), laws, bits)


def evidence(count: int) -> Ints:
    """Which of so many groups choose the member: evenly spaced ones, in the order of the keys."""
    return np.unique(np.linspace(0, count - 1, min(EVIDENCE, count)).astype(np.int64))


@np.errstate(all="ignore")
def draw_groups(mechanism: JointExp, groups: Groups, sizes: Ints, bits: Bits) -> Ints:
    """One draw per group: a row of steps of the grid, in the order of the quantiles.

    `sizes` are the public sizes of the groups; under swap neighbors, the numbers of their records,
    missing ones included. Bits go first to the groups that are drawn one by one, in their order.
    Then they go to those that pass together, from the smallest to the largest, and by their order
    among equal sizes.
    """
    setting, answered = _shared(mechanism, groups.grid), _answered(mechanism, groups.grid)
    together = _pass_together(setting, groups.n)
    groups = groups.gathered(together)
    order = np.argsort(mechanism.q, kind="stable")
    ascending = np.asarray(mechanism.q)[order]
    steps = np.empty((len(groups), len(order)), dtype=np.int64)
    for group in np.flatnonzero(~together).tolist():
        law = _sized(mechanism, int(sizes[group])).law(groups.view(group))
        steps[group, order] = law.draw_steps(bits)
    missing = _left_out(mechanism, groups)
    for chunk in _chunks(np.flatnonzero(together), groups.n):
        places, n = _places(groups, chunk, answered), groups.n[chunk]
        counts = n, sizes[chunk], missing[chunk]
        batch = Batch.of(setting, ascending, places, answered.size, *counts)
        steps[chunk[:, None], order] = batch.draw(bits).T
    return steps


def _decoded(grid: Grid, steps: Ints) -> Iterator[Answers]:
    """The values of each row; most equal ones are one object, because there may be millions."""
    for start in range(0, len(steps), DECODED):
        points, places = np.unique(steps[start : start + DECODED], return_inverse=True)
        values = map(grid.decode(points).__getitem__, places.ravel().tolist())
        yield from zip(*[values] * steps.shape[1], strict=True)


def _answered(mechanism: JointExp, grid: Grid) -> Grid:
    """The grid of the answers: the member of a family that serves all groups, if there is one."""
    if not isinstance(grid, GridFamily) or mechanism.member is None:
        return grid
    return grid.members[mechanism.member]


def _shared(mechanism: JointExp, grid: Grid) -> Setting:
    """The setting of the largest data set, so that no size matters."""
    public_n = require.LARGEST_COUNT if mechanism.neighbors is Neighbors.SWAP else None
    answered = _answered(mechanism, grid)
    if not isinstance(grid, GridFamily) or answered is grid:
        return mechanism.setting(public_n, grid.size)
    return mechanism.family_setting(public_n, grid).of(answered.size)


def _places(groups: Groups, chunk: Ints, grid: Grid) -> Places:
    """The cuts of all groups of a chunk, one group per column."""
    records, n = _side_by_side(groups, chunk), groups.n[chunk]
    if not isinstance(groups.grid, GridFamily) or not isinstance(grid, (Multiples, Singles)):
        return Places.of_steps(records[:-1], records[1:], grid.size)
    halves = groups.grid.member_halves(grid, records.ravel()).reshape(records.shape)
    halves[0] = 0
    halves[np.arange(len(halves))[:, None] > n] = 2 * grid.size
    return Places.of_halves(halves[:-1], halves[1:])


def _sized(mechanism: JointExp, size: int) -> JointExp:
    return mechanism if mechanism.neighbors is Neighbors.SWAP else replace(mechanism, size=size)


def _left_out(mechanism: JointExp, groups: Groups) -> Ints:
    """How many missing records the public size of each group includes."""
    if groups.missing is None or mechanism.neighbors is not Neighbors.SWAP:
        return np.zeros(len(groups), dtype=np.int64)
    return groups.missing


def _pass_together(setting: Setting, n: Ints) -> Bools:
    """Which groups pass through the kernels together; the law does not depend on it."""
    longest, algebra = 2 * setting.reach + 1, setting.algebra
    if not isinstance(algebra, ScaledDoubles):
        return np.zeros(len(n), dtype=bool)
    # Rounding is paid for if chains of sums are no longer here than in the other kernels.
    run = algebra.run_length(setting.rate)
    most = LARGE * longest + SLACK
    runs = -(-most // run)
    deep = min(run, longest) + 2 * runs > scan_depth(longest, run)
    return (n <= most) & (not deep)


def _chunks(which: Ints, n: Ints) -> Iterator[Ints]:
    """Chunks of groups, from the smallest to the largest, of similar size and limited length."""
    order = which[np.argsort(n[which], kind="stable")]
    sizes, start = n[order], 0
    while start < len(order):
        alike = int(np.searchsorted(sizes, sizes[start] * ALIKE + SLACK, side="right"))
        stop = min(alike, start + max(1, CELLS // (int(sizes[alike - 1]) + 2)))
        yield order[start:stop]
        start = stop


@dataclass(frozen=True, eq=False)
class Batch:
    """The laws of several groups, one per column, and a draw from each."""

    setting: Setting
    points: int
    columns: Columns
    end: End

    @classmethod
    def of(
        cls,
        setting: Setting,
        q: Floats,
        places: Places,
        points: int,
        n: Ints,
        sizes: Ints,
        missing: Ints | int = 0,
    ) -> "Batch":
        """The laws of groups with n records each, for ascending quantiles."""
        # No path to a target that is farther beyond the records stays in the window.
        targets = np.minimum(target_ranks(q, sizes, missing), n + setting.reach + 1)
        stop = np.full(len(n), setting.reach)
        end = setting.end(n, n + missing - sizes, targets)
        return cls(setting, points, Columns(places, n, targets, -stop, stop), end)

    @cached_property
    def factors(self) -> Factors:
        """The factors of all distances of the pass."""
        return Factors.of(self.setting.rate, self.columns, self.setting.algebra)

    @cached_property
    def steps(self) -> list[Step]:
        """The masses of the forward pass."""
        return forward(self.columns, self.factors)

    @cached_property
    def ends(self) -> dict[int, Floats]:
        """The mass of whole answers by the rank of the last cut, by how many lie on the grid."""
        return {count: self._ends(count) for count in self.end.counts}

    def _ends(self, count: int) -> Floats:
        errors = np.zeros((1, len(self.columns.n)), dtype=np.int64)
        mass = np.full(errors.shape, self.factors.one)
        if count:
            mass, first = self.steps[count - 1].total, self.steps[count - 1].first
            errors = first + np.arange(len(mass))[:, None] - self.columns.targets[count - 1]
        nats = self.setting.rate * self.end.cost(errors, count)
        return np.asarray(mass * self.setting.algebra.factor(nats))

    def log_window(self) -> Floats:
        """The log mass of all answers whose path is inside, by group."""
        whole = np.concatenate(list(self.ends.values())).sum(axis=0)
        return np.asarray(np.log(whole) - math.log(self.factors.one))

    def draw(self, bits: Bits) -> Ints:
        """The steps of all answers: a row per quantile, a column per group."""
        log_window = self.log_window()
        log_uniform = self.setting.log_floor + self.setting.log_volume
        from_floor = many_draws.choose_first_of_logs(
            bits, np.full(len(log_window), log_uniform), log_window
        )
        answers = np.full((self.columns.steps, len(log_window)), self.points)
        window, stop = np.flatnonzero(~from_floor), 0
        drawn = many_draws.weighted(bits, np.concatenate(list(self.ends.values()))[:, window])
        for count, masses in self.ends.items():
            start, stop = stop, stop + len(masses)
            here = (drawn >= start) & (drawn < stop)
            self._walk(count, window[here], drawn[here] - start, bits, answers)
        points = self.points + self.setting.beyond
        choices = np.full(np.count_nonzero(from_floor), points)
        answers[:, from_floor] = many_draws.sorted_with_repeats(bits, choices, len(answers))
        return np.asarray(np.minimum(answers, self.points - 1))

    def _walk(self, count: int, which: Ints, row: Ints, bits: Bits, answers: Ints) -> None:
        """Draw the first answers of some groups; all others lie beyond all records."""
        if count and len(which):
            columns = replace(self.columns, targets=self.columns.targets[:count])
            walks = Walks(columns, self.factors, self.steps[:count], bits, which)
            answers[:count, which] = walks.back(self.steps[count - 1].first + row).answers


def _side_by_side(groups: Groups, chunk: Ints) -> Ints:
    """Column c has -1, the sorted steps of group c, and then the grid's size to the last row."""
    n = groups.n[chunk]
    rows = np.arange(int(n.max()) + 2)[:, None]
    index = groups.starts[chunk] + rows - 1
    steps = groups.steps if len(groups.steps) else np.zeros(1, dtype=np.int64)
    records = np.where(rows <= n, steps.take(index, mode="clip"), groups.grid.size)
    records[0] = -1
    return records
