"""Releases by group: public parameters are settled, rows are read by group, then drawn together."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpquantiles import entropy, require
from dpquantiles.charging import Account, charged, fingerprint
from dpquantiles.engine import precision
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid import Grid, default_grid
from dpquantiles.grouped import GroupedRelease, Key
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.mechanisms.groups import release_groups, release_one
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.planner import AUTO, Choice
from dpquantiles.privacy import ApproxDP, Guarantee, Neighbors, Units
from dpquantiles.request import Request
from dpquantiles.sources.coded import read
from dpquantiles.sources.frames import backend_of
from dpquantiles.sources.groups import GroupedColumn, GroupedRows
from dpquantiles.sources.keys import PRIVATE, KeyColumns
from dpquantiles.sources.source import open_table
from dpquantiles.sources.units import require_units
from dpquantiles.views import SortedView
from dpquantiles.views.groups import Groups
from dpquantiles.views.protocol import Ints

USUAL_GROUP = 1000
"""How many records a group is taken to have when one mechanism is chosen for all groups."""


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How a table is divided: the columns, the public keys or "private", and the sizes if given."""

    by: str | Sequence[str]
    keys: Any = None
    size: int | Mapping[Any, int] | None = None
    units: Units = field(default_factory=Units)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that divide the table."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by)


def run(
    data: Any,
    column: str | None,
    grouping: Grouping,
    request: Request,
    bits: Bits,
    account: Account | None = None,
) -> GroupedRelease:
    """One release of all groups; `request` states the budget of all of it, for units if there are.

    Bits are taken for the rows of units, for private keys or bought sizes, then for the answers.
    """
    if column is None:
        raise InvalidType("column must be given with by: the column whose quantiles are wanted")
    table = open_table(data, (column,))
    columns = KeyColumns.of(table, grouping.by)
    if grouping.units.column is not None:
        require_units(table, grouping.units.column)
    stated = None if request.grid is None else request.grid.kind
    grouped = GroupedColumn.of(table, columns, column, stated)
    grid = request.grid or default_grid(grouped.kind, request.bounds, request.resolution)
    grouped.source.check(grid, request.missing)
    choice = Plan.price(grouping, request).choice(grid)
    plan = Plan.of(columns, grouping, replace(request, mechanism=choice.mechanism))
    plan = replace(plan, provenance={**plan.provenance, "choice": choice.why})

    def draw(granted: Request) -> GroupedRelease:
        priced = Plan.price(grouping, replace(granted, mechanism=choice.mechanism))
        bought = replace(plan, request=priced.request, selection=priced.selection)
        return _draw(grouped, grid, bought, grouping.units, bits)

    def rehearsed(granted: Request) -> None:
        chosen = replace(granted, mechanism=choice.mechanism)
        rehearse(Plan.price(grouping, chosen), plan.sizes, grid)

    # All of the above is public: types, parameters and the price. What draws reads records.
    keyed = {"by": columns.by, "keys": plan.keys or PRIVATE}
    about = {"column": column, "source": fingerprint(data), **keyed}
    made = charged(
        account,
        request,
        bits,
        draw,
        promise=plan.guarantee,
        rehearse=rehearsed,
        restore=GroupedRelease.from_dict,
        units=grouping.units,
        about={**about, "sizes": None if plan.sizes is None else tuple(plan.sizes.tolist())},
    )
    return replace(made, backend=backend_of(table))


def rehearse(plan: "Plan", sizes: Ints | None, grid: Grid) -> None:
    """Refuse what public numbers forbid, by a draw from empty groups of extreme stated sizes.

    Where sizes are told by the records, or found with the keys, only JointExp is rehearsed: its
    limits are those of the largest group there can be.
    """
    found = plan.selection is not None or plan.request.budget.neighbors is Neighbors.SWAP
    if found and not isinstance(plan.build(None), JointExp):
        return
    nobody = np.zeros(0, dtype=np.int64)
    stated = np.zeros(1, dtype=np.int64) if plan.selection else sizes
    few = None if stated is None else np.array([stated.min(), stated.max()])
    groups = Groups.of(grid, nobody, nobody, 1 if few is None else len(few))
    release_groups(plan.build, groups, few, random.Random(0))


@np.errstate(all="ignore")
def _draw(
    grouped: GroupedColumn, grid: Grid, plan: "Plan", units: Units, bits: Bits
) -> GroupedRelease:
    request, columns = plan.request, grouped.keys
    asked = None if plan.selection else plan.keys
    with grouped.rows(asked, units, request.missing, bits).pinned() as rows:
        codes, sizes = plan.groups(rows, bits)
        answers: list[Any] = [None] * len(codes)
        shown: list[Any] = [None] * len(codes)
        for places, records in rows.portions(codes, grid, request.missing):
            part = None if sizes is None else sizes[places]
            found = plan.release(records, part, bits)
            for place, answer, size in zip(places.tolist(), *found, strict=True):
                answers[place], shown[place] = plan.ordered(answer), size
    private = entropy.is_private(bits)
    return GroupedRelease(
        by=columns.by,
        keys=read(codes, columns.types),
        key_types=columns.types,
        q=request.q,
        values=tuple(answers),
        guarantee=plan.guarantee if private else None,
        mechanism=request.without_intervals().name,
        type=grid.kind.name,
        note="" if private else entropy.SEEDED_NOTE,
        provenance={
            "budget": plan.guarantee.to_dict(),
            "grid": grid.describe(),
            **plan.provenance,
            **precision(grid, grouped.source.domain),
            **({"sizes": shown} if None not in shown else {}),
        },
        backend=backend_of(grouped.table),
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What each part of a release by group may spend, from public numbers alone."""

    request: Request
    """At the budget of one row, after the keys are paid for."""
    selection: PrivateKeys | None
    guarantee: Guarantee
    provenance: Mapping[str, object]
    keys: tuple[Key, ...] = ()
    sizes: Ints | None = None

    @classmethod
    def of(cls, columns: KeyColumns, grouping: Grouping, request: Request) -> "Plan":
        """Public keys, or a selection that is paid for first."""
        plan = cls.price(grouping, request)
        if plan.selection is not None:
            return plan
        keys = columns.check(grouping.keys)
        return replace(plan, keys=keys, sizes=_sizes(columns, keys, grouping.size, request.budget))

    @classmethod
    def price(cls, grouping: Grouping, request: Request) -> "Plan":
        """The budgets alone: no key is looked at."""
        units, budget = grouping.units, request.budget
        row = units.price(budget, grouped=True)
        if isinstance(grouping.keys, str):
            return cls._with_private_keys(grouping, request, row)
        request = replace(request, budget=row)
        spent = request.without_intervals().guarantee
        if budget.neighbors is Neighbors.SWAP:
            spent = replace(spent, within=grouping.columns)
        profile = request.without_intervals().profile
        bought = profile.uses_size and grouping.size is None and row.neighbors is not Neighbors.SWAP
        share = {"size_share": profile.size_share} if bought else {}
        return cls(
            request=request,
            selection=None,
            guarantee=units.stated(spent, budget),
            provenance={**units.provenance, **share},
        )

    @classmethod
    def _with_private_keys(cls, grouping: Grouping, request: Request, row: Guarantee) -> "Plan":
        require.choice((PRIVATE,), keys=grouping.keys)
        if row.neighbors is Neighbors.SWAP:
            raise InvalidValue(
                "keys='private' needs neighbors='add-remove': under swap neighbors each record's "
                "group counts as public, so there is nothing to select; list the keys instead"
            )
        if not isinstance(row, ApproxDP):
            raise InvalidValue(
                "keys='private' needs epsilon and delta: a group with a single record is released "
                "with a chance of at most delta, so take it far below one over the number of "
                "records, for example delta=1e-6"
            )
        if grouping.size is not None:
            raise InvalidValue(
                "size must be left out with keys='private', which finds sizes as well; a mechanism "
                "that must be told them, as slice_quantiles must, needs a list of keys"
            )
        selection, rest = PrivateKeys.bought(row)
        priced = replace(request, budget=rest)
        research = priced.without_intervals().guarantee.research_only
        units = grouping.units
        return cls(
            request=priced,
            selection=selection,
            guarantee=replace(request.budget, unit=units.column, research_only=research),
            provenance={
                **units.provenance,
                "keys_share": COUNT_SHARE,
                "keys_threshold": selection.threshold,
            },
        )

    def choice(self, grid: Grid) -> Choice:
        """One mechanism for all groups, and why; only a stated size counts, else a usual one.

        Under swap the sizes are public, but they are known only after the budget is spent.
        """
        found = self.request.choice(USUAL_GROUP, grid)
        if self.request.mechanism != AUTO:
            return found
        return found._replace(why=f"one choice for all groups: {found.why}")

    def groups(self, rows: GroupedRows, bits: Bits) -> tuple[Sequence[Key], Ints | None]:
        """The codes of the keys to answer for, and their public sizes where there are any."""
        if rows.asked is not None:
            return rows.asked, self.sizes
        assert self.selection is not None
        found = list(rows.counts)
        counts = np.array(list(rows.counts.values()), dtype=np.int64)
        released, sizes = self.selection.draw(counts, bits)
        return [found[group] for group in released.tolist()], sizes

    def release(
        self, records: Groups | SortedView, sizes: Ints | None, bits: Bits
    ) -> tuple[list[Sequence[Any]], list[int | None]]:
        """Answers of some groups, and their sizes as far as these are public."""
        if isinstance(records, Groups):
            answers, shown = release_groups(self.build, records, sizes, bits)
            return list(answers), shown
        size = None if sizes is None else int(sizes[0])
        values, public = release_one(self.build, records, size, bits)
        return [values], [public]

    def build(self, size: int | None) -> Mechanism:
        """The mechanism for one group of a public size."""
        mechanism = self.request.without_intervals()
        if size is None or not mechanism.profile.uses_size:
            return mechanism
        return replace(self.request, size=size).without_intervals()

    def ordered(self, answer: Sequence[Any]) -> tuple[Any, ...]:
        """Answers of the distinct quantiles, ascending, in the order asked."""
        places = {q: i for i, q in enumerate(sorted(set(self.request.q)))}
        return tuple(answer[places[q]] for q in self.request.q)


def typical(size: Any) -> int | None:
    """One public number for groups of public sizes, in place of theirs where one is needed."""
    if not isinstance(size, Mapping):
        return None if size is None else require.count(size=size)
    sizes = sorted(require.count(size=number) for number in size.values())
    return sizes[len(sizes) // 2] if sizes else None


def _sizes(
    columns: KeyColumns, keys: Sequence[Key], size: int | Mapping[Any, int] | None, row: Guarantee
) -> Ints | None:
    """Public sizes in the order of the keys: one for all groups, or one for each."""
    if size is None:
        return None
    if row.neighbors is Neighbors.SWAP:
        raise InvalidValue(
            "size must be left out under swap neighbors, where the sizes of groups are public; "
            "for protected sizes use neighbors='add-remove'"
        )
    if not isinstance(size, Mapping):
        return np.full(len(keys), require.count(size=size), dtype=np.int64)
    known = {columns.shown(key): size.get(columns.shown(key)) for key in keys}
    without = next((key for key, number in known.items() if number is None), None)
    if without is not None:
        raise InvalidValue(f"size must give a number for every key, got none for {without!r}")
    return np.array([require.count(size=number) for number in known.values()], dtype=np.int64)
