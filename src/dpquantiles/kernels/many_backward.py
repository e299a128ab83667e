"""The draws that belong to `many_forward`: all columns walk back from the last answer together."""

from dataclasses import dataclass, field

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.kernels import draws, many_draws
from dpquantiles.kernels.algebra import Floats
from dpquantiles.kernels.many_draws import Bools, Ints
from dpquantiles.kernels.many_forward import Columns, Factors, Step

UPPER, GAP, LOWER, INTERIOR = range(4)


@dataclass(frozen=True, eq=False)
class Walks:
    """One walk per column through the masses of a forward pass; `back` makes them."""

    columns: Columns
    factors: Factors
    steps: list[Step]
    bits: Bits
    answers: Ints = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.columns.steps, len(self.columns.n))
        object.__setattr__(self, "answers", np.empty(shape, dtype=np.int64))

    def back(self, who: Ints, last_rank: Ints) -> Ints:
        """The answers of some columns, drawn from the last ones, whose cuts have these ranks.

        A column whose answers from `first` up share one gap waits there while the others go on.
        """
        arrived, last = who, self.columns.steps
        rank, standing, first = (np.zeros_like(self.columns.n) for _ in range(3))
        rank[who], standing[who] = last_rank, self._standing(last, who, last_rank)
        first[who] = last
        for k in range(last, 0, -1):
            self._answer(k, arrived, rank, standing, first)
            arrived = np.flatnonzero(first == k)
            if k > 1:
                where, how = self._predecessor(k, arrived, rank[arrived], standing[arrived])
                rank[arrived], standing[arrived], first[arrived] = where, how, k - 1
        return self.answers

    def _answer(self, k: int, who: Ints, rank: Ints, standing: Ints, first: Ints) -> None:
        """Answer k of the columns that arrived at step k, and all answers in its gap."""
        below = self.columns.records[rank[who], who]
        above = self.columns.records[rank[who] + 1, who]
        self.answers[k - 1, who] = np.where(standing[who] == LOWER, above, below)
        in_gap = standing[who] == GAP
        gap, low = who[in_gap], below[in_gap] + 1
        points = above[in_gap] - low
        count = self._copies(k, gap, rank[gap], points)
        alone = count == 1
        self.answers[k - 1, gap[alone]] = low[alone] + many_draws.below(self.bits, points[alone])
        for i in np.flatnonzero(~alone).tolist():
            copies, column = int(count[i]), int(gap[i])
            offsets = draws.sorted_with_repeats(self.bits, int(points[i]), copies)
            self.answers[k - copies : k, column] = low[i] + np.array(offsets)
            first[column] = k - copies + 1

    def _standing(self, k: int, who: Ints, rank: Ints) -> Ints:
        """Where the k-th answers stand, given the ranks of their cuts."""
        step = self.steps[k - 1]
        row = rank - step.first
        upper, gap, lower = (of[row, who] for of in (step.upper, step.gap, step.lower))
        interior = self.columns.records[rank, who] == self.columns.records[rank + 1, who]
        is_upper = many_draws.choose_first(self.bits, upper, gap + lower)
        is_gap = many_draws.choose_first(self.bits, gap, lower)
        return np.where(interior, INTERIOR, np.where(is_upper, UPPER, np.where(is_gap, GAP, LOWER)))

    def _copies(self, k: int, who: Ints, rank: Ints, points: Ints) -> Ints:
        """How many answers share the gap: the terms of (8)."""
        terms = np.zeros((k, len(who)))
        vectors = np.ones(len(who))
        for j in range(k):
            step = self.steps[k - 1 - j]
            vectors = vectors * ((points + j) / (j + 1.0))
            held = rank - step.first < len(step.entering)
            moved = self.columns.targets[k - 1, who] - self.columns.targets[k - 1 - j, who]
            faded = step.entering[(rank - step.first)[held], who[held]]
            terms[j, held] = vectors[held] * (faded * self.factors.fall[moved[held]])
        return 1 + many_draws.weighted(self.bits, terms)

    def _predecessor(self, k: int, who: Ints, rank: Ints, standing: Ints) -> tuple[Ints, Ints]:
        """Rank and standing of answers k - 1, given where answers k entered their slots."""
        advance = self.columns.targets[k - 1, who] - self.columns.targets[k - 2, who]
        before, moves = self.steps[k - 2], standing != INTERIOR
        found, tied = rank - advance, np.zeros(len(who), dtype=bool)
        weights = self._sources(before, who[moves], rank[moves], advance[moves], standing[moves])
        if weights.shape[1]:
            found[moves] = before.first + many_draws.weighted(self.bits, weights)
        tied[moves] = (found[moves] == rank[moves]) & (standing[moves] != LOWER)
        how = np.full(len(who), UPPER)
        how[~tied] = self._standing(k - 1, who[~tied], found[~tied])
        return found, how

    def _sources(
        self, before: Step, who: Ints, rank: Ints, advance: Ints, standing: Ints
    ) -> Floats:
        """The terms of (6) and (7) by the rank of answer k - 1; only atoms end at equal rank."""
        ranks = before.first + np.arange(len(before.total))[:, None]
        center = rank - advance
        distance = np.abs(ranks - center)
        allowed: Bools = (ranks < rank) & ((standing != UPPER) | (ranks >= center))
        allowed &= (standing != LOWER) | (ranks <= center)
        allowed |= (standing == LOWER) & (ranks == center)
        weights = before.total[:, who] * self.factors.fall[distance] * allowed
        same = rank - before.first
        tied = (standing != LOWER) & (same < len(before.upper))
        atoms = before.upper[same[tied], who[tied]]
        weights[same[tied], tied] = atoms * self.factors.fall[advance[tied]]
        return weights
