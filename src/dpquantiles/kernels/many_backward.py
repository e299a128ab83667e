"""Draws from the masses of `many_forward`: many walks back from the last answer at once."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kernels import many_draws
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.many_draws import Bools, Ints
from dpquantiles.kernels.many_forward import Columns, Factors, Step

UPPER, GAP, LOWER, INTERIOR = range(4)


MOST_VECTORS = 1e250
"""The most vectors that are counted in a gap; more would overflow, and have hardly any mass."""


class Walked(NamedTuple):
    """Row k has answer k + 1 of every walk, and the rank of its cut."""

    answers: Ints
    ranks: Ints


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks back through the masses of a forward pass, each in one column."""

    columns: Columns
    factors: Factors
    steps: list[Step]
    bits: Bits
    column: Ints
    """The column of every walk."""

    def back(self, last_rank: Ints) -> Walked:
        """Draw all answers from the last to the first; the last cuts have these ranks.

        If the answers `first` .. k of a walk share a gap, the walk waits until the others reach
        `first`.
        """
        last, arrived = self.columns.steps, np.arange(len(self.column))
        walked = Walked(*(np.empty((last, len(arrived)), dtype=np.int64) for _ in Walked._fields))
        rank, standing = last_rank.copy(), self._standing(last, arrived, last_rank)
        first = np.full(len(arrived), last)
        for k in range(last, 0, -1):
            self._answer(k, arrived, rank, standing, first, walked.answers)
            walked.ranks[k - 1] = rank
            arrived = np.flatnonzero(first == k)
            if k > 1:
                where, how = self._predecessor(k, arrived, rank[arrived], standing[arrived])
                rank[arrived], standing[arrived], first[arrived] = where, how, k - 1
        return walked

    def _answer(
        self, k: int, who: Ints, rank: Ints, standing: Ints, first: Ints, answers: Ints
    ) -> None:
        """Draw answer k of the walks that arrived at step k, and all other answers in its gap."""
        at, places = (rank[who], self.column[who]), self.columns.places
        low, free = places.first[at], places.free[at]
        answers[k - 1, who] = np.where(standing[who] == LOWER, low + free, low - 1)
        in_gap = standing[who] == GAP
        gap, low, points = who[in_gap], low[in_gap], free[in_gap]
        count = self._copies(k, gap, rank[gap], points)
        for copies in np.unique(count).tolist():
            same = count == copies
            offsets = many_draws.sorted_with_repeats(self.bits, points[same], copies)
            answers[k - copies : k, gap[same]] = low[same] + offsets
            first[gap[same]] = k - copies + 1

    def _standing(self, k: int, who: Ints, rank: Ints) -> Ints:
        """Where the k-th answers lie, given the ranks of their cuts."""
        step = self.steps[k - 1]
        at = rank - step.first, self.column[who]
        upper, gap, lower = (of[at] for of in (step.upper, step.gap, step.lower))
        interior = self.columns.places.interior[rank, self.column[who]]
        is_upper = many_draws.choose_first(self.bits, upper, gap + lower)
        is_gap = many_draws.choose_first(self.bits, gap, lower)
        return np.where(interior, INTERIOR, np.where(is_upper, UPPER, np.where(is_gap, GAP, LOWER)))

    def _copies(self, k: int, who: Ints, rank: Ints, points: Ints) -> Ints:
        """How many answers share the gap, by the terms of (8)."""
        if not len(who):
            return np.empty(0, dtype=np.int64)
        terms, column = np.zeros((k, len(who))), self.column[who]
        vectors, faded_from = np.ones(len(who)), self.columns.targets[k - 1, column]
        for j in range(k):
            step, target = self.steps[k - 1 - j], self.columns.targets[k - 1 - j, column]
            on_axis = rank - step.first < len(step.entering)
            if not on_axis.any():
                break
            vectors = vectors * ((points + j) / (j + 1.0))
            fade = self.factors.fall[faded_from - target]
            row = np.minimum(rank - step.first, len(step.entering) - 1)
            terms[j] = vectors * (step.entering[row, column] * fade * on_axis)
            if step.unit is not None:
                vectors = np.minimum(vectors * fade / step.unit[column], MOST_VECTORS)
                faded_from = target
        return 1 + many_draws.weighted(self.bits, terms)

    def _predecessor(self, k: int, who: Ints, rank: Ints, standing: Ints) -> tuple[Ints, Ints]:
        """The ranks and standings of answers k - 1, given where answers k entered their slots."""
        column = self.column[who]
        advance = self.columns.targets[k - 1, column] - self.columns.targets[k - 2, column]
        before, moves = self.steps[k - 2], standing != INTERIOR
        earlier, tied = rank - advance, np.zeros(len(who), dtype=bool)
        weights = self._sources(before, column[moves], rank[moves], advance[moves], standing[moves])
        if weights.shape[1]:
            earlier[moves] = before.first + many_draws.weighted(self.bits, weights)
        tied[moves] = (earlier[moves] == rank[moves]) & (standing[moves] != LOWER)
        how = np.full(len(who), UPPER)
        how[~tied] = self._standing(k - 1, who[~tied], earlier[~tied])
        return earlier, how

    def _sources(
        self, before: Step, column: Ints, rank: Ints, advance: Ints, standing: Ints
    ) -> Floats:
        """The terms of (6) and (7) by the rank of answer k - 1; at equal ranks only atoms count."""
        ranks = before.first + np.arange(len(before.total))[:, None]
        center = rank - advance
        least = np.where(standing == UPPER, center, 0)
        stop = np.where(standing == LOWER, center + 1, rank)
        allowed: Bools = (ranks >= least) & (ranks < stop)
        weights = self.factors.apart(ranks - center)
        weights *= before.total.take(column, axis=1)
        weights *= allowed
        same = rank - before.first
        tied = (standing != LOWER) & (same < len(before.upper))
        atoms = before.upper[same[tied], column[tied]]
        weights[same[tied], tied] = atoms * self.factors.fall[advance[tied]]
        return weights
