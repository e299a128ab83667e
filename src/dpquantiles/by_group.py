"""Releases by group: keys are checked, rows are read by group, and groups are drawn together."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dpquantiles import cautions, entropy, require, written
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid, GridFamily, precision
from dpquantiles.job import USUAL_GROUP, Job
from dpquantiles.kinds import ANYTHING, Domain
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.bracketed import RANK_SHARE, Bracketed
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.mechanisms.joint_exp_groups import GroupAnswers, GroupDraws
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.planner import Choice
from dpquantiles.privacy import Neighbors
from dpquantiles.results import GroupedRelease, Key, Release
from dpquantiles.sources.groups import GroupedRows, grouped_rows
from dpquantiles.sources.keys import PRIVATE, KeyColumns, read
from dpquantiles.sources.source import Source
from dpquantiles.sources.tables import Table
from dpquantiles.views import AnyGroups, Groups, SortedView
from dpquantiles.views.protocol import Ints


@dataclass(frozen=True)
class Grouping:
    """The columns that divide a table, and the public keys and sizes of its groups."""

    columns: KeyColumns
    keys: tuple[Key, ...] | None
    """None where groups are found by a private selection."""
    sizes: Ints | None

    @classmethod
    def of(cls, job: Job, table: Table) -> "Grouping":
        """Check the keys and sizes of a job against the columns that they belong to."""
        columns = KeyColumns.of(table, job.by)
        if job.price.keys is not None:
            return cls(columns, None, None)
        keys = columns.check(
            written.keys(job.keys, columns) if job.as_text and job.keys else job.keys
        )
        return cls(columns, keys, _sizes(columns, keys, job.size))

    def parameters(self) -> dict[str, object]:
        """What must be the same when a request is repeated."""
        keys: object = PRIVATE
        if self.keys is not None:
            keys = [
                [part if isinstance(part, int) else str(part) for part in key] for key in self.keys
            ]
        sizes = None if self.sizes is None else self.sizes.tolist()
        return {"by": list(self.columns.by), "keys": keys, "sizes": sizes}


def _sizes(columns: KeyColumns, keys: Sequence[Key], size: Any) -> Ints | None:
    """Public sizes in the order of the keys: one for all groups, or one for each."""
    if size is None or isinstance(size, int):
        return None if size is None else np.full(len(keys), size, dtype=np.int64)
    by_key = {columns.shown(key): size.get(columns.shown(key)) for key in keys}
    without = next((key for key, number in by_key.items() if number is None), None)
    if without is not None:
        raise InvalidValue(f"size must give a number for every key, got none for {without!r}")
    return np.array([require.count(size=number) for number in by_key.values()], dtype=np.int64)


@dataclass(frozen=True)
class _GroupDraw:
    """One mechanism for all groups, built for the size of each."""

    job: Job
    choice: Choice
    domain: Domain = ANYTHING
    """What the declared type of the column can hold."""

    @classmethod
    def of(cls, job: Job, grid: Grid, domain: Domain = ANYTHING) -> "_GroupDraw":
        """Choose from public numbers; of sizes, only stated ones are known before the charge."""
        drawing = cls(job, job.choose(USUAL_GROUP, grid), domain)
        if job.min_size is not None and not drawing.knows_sizes:
            raise InvalidValue(
                f"min_size needs the sizes of groups, which {drawing.choice.mechanism} does not "
                "buy; state them with size, or choose another mechanism, such as joint_exp"
            )
        return drawing

    @property
    def knows_sizes(self) -> bool:
        """Whether the size of every group is public, found with the keys, or bought."""
        job = self.job
        public = job.budget.neighbors is Neighbors.SWAP or job.size is not None
        return public or job.price.keys is not None or self.needs_size

    @property
    def needs_size(self) -> bool:
        """Whether a draw needs the size of its group, as answers with intervals always do."""
        profile = registry.MECHANISMS[self.choice.mechanism].profile
        return profile.uses_size or self.job.intervals is not None

    @property
    def draw_groups(self) -> GroupDraws | None:
        """How groups are drawn side by side; None where they are drawn one by one."""
        one_by_one = self.job.intervals is not None
        return None if one_by_one else registry.REGISTERED[self.choice.mechanism].draw_groups

    def build(self, size: int | None) -> Mechanism | Bracketed:
        """The mechanism for one group of a public size."""
        stated = size if size is not None and self.needs_size else self.job.typical_size
        return self.job.build(self.choice.mechanism, stated, self.domain)

    def release(self, groups: AnyGroups, sizes: Ints | None, bits: Bits) -> GroupAnswers:
        """The answers of all groups, and their sizes as far as these are public.

        Under add-remove neighbors `sizes` are public numbers; without them every group buys its
        own.
        """
        if self.draw_groups is not None:
            return self.draw_groups(self.build(None), groups, sizes, bits)
        each: list[int | None] = [None] * len(groups) if sizes is None else sizes.tolist()
        portions = (records.views(np.arange(len(records))) for _, records in groups.portions())
        one_by_one = zip(chain.from_iterable(portions), each, strict=True)
        released = [self._release_one(view, size, bits) for view, size in one_by_one]
        return GroupAnswers(
            [release.values for release, _ in released],
            [size for _, size in released],
            ranks=[release.ranks for release, _ in released],
        )

    def _release_one(
        self, view: SortedView, size: int | None, bits: Bits
    ) -> tuple[Release, int | None]:
        """The answers of one group and its public size: given, counted under swap, or bought."""
        mechanism: Any = self.build(size)
        release = mechanism.release(view, bits)
        if isinstance(mechanism, Bracketed):  # every group has a member and a budget of its own
            return release, release.provenance["size"]
        if size is None:
            protected = mechanism.guarantee.neighbors is Neighbors.ADD_REMOVE
            size = release.provenance.get("size") if protected else mechanism.counted(view)
        return release, size

    def shares(self) -> dict[str, object]:
        """What the keys, the sizes of groups, and measured ranks are paid with."""
        keys, measured = self.job.price.keys, self.job.intervals is not None
        profile = registry.MECHANISMS[self.choice.mechanism].profile
        ranks: dict[str, object] = {"rank_share": float(RANK_SHARE)} if measured else {}
        if keys is not None:
            return {"keys_share": COUNT_SHARE, "keys_threshold": keys.threshold, **ranks}
        protected = self.job.budget.neighbors is not Neighbors.SWAP
        bought = self.needs_size and self.job.size is None and protected
        share = float(1 - RANK_SHARE) * COUNT_SHARE if measured else profile.size_share
        return {"size_share": share, **ranks} if bought else ranks


def check_drawable(job: Job, grouping: Grouping, grid: Grid) -> None:
    """Draw from empty groups of the least and the largest stated size, to fail before the charge.

    Where sizes are told by the records, or found with the keys, only mechanisms that draw groups
    side by side can be checked: their limits are those of the largest group there can be.
    """
    draw = _GroupDraw.of(job, grid)
    selects = job.price.keys is not None
    unstated = selects or job.budget.neighbors is Neighbors.SWAP
    if unstated and draw.draw_groups is None:
        return
    nobody = np.zeros(0, dtype=np.int64)
    sizes = np.zeros(1, dtype=np.int64) if selects else grouping.sizes
    extremes = None if sizes is None else np.array([sizes.min(), sizes.max()])
    groups = Groups.of(grid, nobody, nobody, 1 if extremes is None else len(extremes))
    draw.release(groups, extremes, random.Random(0))


@np.errstate(all="ignore")
def draw(
    job: Job, grouping: Grouping, table: Table, source: Source, grid: Grid, missing: Any
) -> GroupedRelease:
    """One release of all groups."""
    column, drawing = str(job.columns[0]), _GroupDraw.of(job, grid, source.domain)
    columns = grouping.columns
    with grouped_rows(
        table, columns, column, source, grouping.keys, job.units, job.drops_first, job.bits
    ).pinned() as rows:
        codes, sizes = _groups(job, grouping, rows)
        with rows.groups(codes, grid, missing) as groups:
            drawn = drawing.release(groups, sizes, job.bits)
    shown: list[Any] = drawn.sizes
    ranks: list[Any] | None = None if job.intervals is None else drawn.ranks
    least = job.min_size
    kept = [i for i, size in enumerate(shown) if least is None or size >= least]
    sizes_shown = [shown[i] for i in kept]
    private = entropy.is_private(job.bits)
    promise = job.promise([drawing.build(None).guarantee])
    return GroupedRelease(
        by=columns.by,
        keys=tuple(read([codes[i] for i in kept], columns.types)),
        key_types=columns.types,
        q=job.q,
        values=_ordered(job, [drawn.answers[i] for i in kept]),
        ranks=None if ranks is None else tuple(ranks[i] for i in kept),
        guarantee=promise if private else None,
        mechanism=drawing.choice.mechanism,
        type=grid.kind.name,
        note="" if private else entropy.SEEDED_NOTE,
        provenance={
            "budget": promise.to_dict(),
            "grid": _described(grid, drawn.member),
            **job.units.provenance,
            **drawing.shares(),
            "choice": drawing.choice.why,
            **cautions.for_groups(job, drawing.choice.mechanism, sizes_shown, grid),
            **precision(grid, source.domain),
            **({} if least is None else {"min_size": least, "hidden": len(shown) - len(kept)}),
            **({"sizes": sizes_shown} if None not in sizes_shown else {}),
        },
    )


def _described(grid: Grid, member: int | None) -> dict[str, object]:
    """The grid of the answers as plain values, with the member that serves all groups, if any."""
    if member is None or not isinstance(grid, GridFamily):
        return grid.describe()
    return grid.describe_member(member)


def _groups(job: Job, grouping: Grouping, rows: GroupedRows) -> tuple[Sequence[Key], Ints | None]:
    """The codes of the keys to answer for, and their public sizes where there are any."""
    if rows.listed_codes is not None:
        return rows.listed_codes, grouping.sizes
    assert job.price.keys is not None
    counts = np.array([count for count, _ in rows.counts.values()], dtype=np.int64)
    released, sizes = job.price.keys.draw(counts, job.bits)
    codes = list(rows.counts)
    return [codes[group] for group in released.tolist()], sizes


def _ordered(job: Job, answers: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Answers of the distinct quantiles, ascending, in the order asked for."""
    distinct = sorted(set(job.q))
    if tuple(distinct) == job.q:
        return tuple(answers)
    places = [distinct.index(q) for q in job.q]
    return tuple(tuple(answer[place] for place in places) for answer in answers)
