"""A job: what is asked of which data, for which budget and on whose account; checked once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid, require_grid
from dpquantiles.intervals import Intervals
from dpquantiles.kinds import ANYTHING, Domain
from dpquantiles.mechanisms import JointExp, registry
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.mechanism import Mechanism, require_size
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.planner import AUTO, Choice, SourceKind, answers, choose, negligible
from dpquantiles.privacy import ApproxDP, Guarantee, Neighbors, PureDP, Units
from dpquantiles.sources.keys import PRIVATE
from dpquantiles.sources.named import Named
from dpquantiles.views import DROP, MISSING_POLICIES, is_dropped

if TYPE_CHECKING:
    from dpquantiles.ledger import Ledger

USUAL_GROUP = 1000
"""How many records a group is taken to have when one mechanism is chosen for all groups."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """Where a release is charged: a data set of a ledger, or one of its disjoint parts."""

    ledger: "Ledger"
    dataset: str
    part: str | None = None
    request_id: str | None = None

    @classmethod
    def of(cls, ledger: Any, **names: Any) -> "Account | None":
        """The account named by `dataset`, `part` and `request_id`; None without a ledger."""
        if ledger is None:
            for name, text in names.items():
                if text is not None:
                    raise InvalidType(
                        f"{name} must be given together with a ledger, got {text!r} alone"
                    )
            return None
        from dpquantiles.ledger import Ledger

        if not isinstance(ledger, Ledger):
            raise InvalidType(
                f"ledger must be a Ledger, such as Ledger('budget.db'), got {require.shown(ledger)}"
            )
        if names.get("dataset") is None:
            raise InvalidType("dataset must be given with a ledger, for example 'payroll-2026'")
        return cls(ledger=ledger, **names)


class Price(NamedTuple):
    """The budget of a job, divided among what the job does."""

    draw: Guarantee
    """For one draw: one column, one row of a unit, and what is left when keys are paid for."""
    keys: PrivateKeys | None = None
    """The selection of groups, where keys are not public."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One request for quantiles: of a column, of several columns, or of a column by group.

    `columns` is (None,) where the data is a single column. `bounds` holds a pair for each column
    that has bounds.
    """

    data: Any = field(repr=False)
    columns: tuple[str | None, ...]
    q: tuple[float, ...]
    budget: Guarantee
    by: tuple[str, ...] = ()
    keys: Any = None
    units: Units = field(default_factory=Units)
    bounds: Mapping[str | None, Any] = field(default_factory=dict)
    resolution: Any = None
    grid: Grid | None = None
    size: int | Mapping[Any, int] | None = None
    min_size: int | None = None
    """Groups whose public or private size is smaller are not shown."""
    missing: Any = None
    mechanism: str = AUTO
    intervals: Intervals | None = None
    account: Account | None = None
    bits: Bits = field(default_factory=entropy.system, repr=False)
    describes: bool = False
    """Whether the result is a description, which may hold several columns."""
    as_text: bool = False
    """Whether bounds, resolution, missing and keys are text, to be read in the column's type."""

    def __post_init__(self) -> None:
        self._check_columns()
        given = {name: pair for name, pair in self.bounds.items() if pair is not None}
        pairs = {name: require.pair(bounds=pair) for name, pair in given.items()}
        object.__setattr__(self, "bounds", pairs)
        if self.grid is not None:
            require_grid(self.grid, self.bounds or None, self.resolution)
        object.__setattr__(self, "missing", self._missing_policy())
        require.choice((AUTO, *registry.MECHANISMS), mechanism=self.mechanism)
        if self.min_size is not None:
            if not self.by:
                raise InvalidValue("min_size needs by, the columns that divide the table")
            object.__setattr__(self, "min_size", require.count(minimum=1, min_size=self.min_size))
        if self.intervals is not None:
            self.intervals.check_rows(self.units.rows)
        if self.account is not None and not entropy.is_private(self.bits):
            raise InvalidValue(
                "rng must be left out when a ledger is charged: a seeded release has no guarantee"
            )
        if self.size is not None:
            object.__setattr__(self, "size", self._public_size())
        _ = self.usual  # refuses what no mechanism, or not the one that is named, can meet

    def _check_columns(self) -> None:
        if self.describes:
            if not self.columns or len(set(self.columns)) < len(self.columns):
                raise InvalidValue(
                    f"columns must be a list that names each column once, got {self.columns!r}"
                )
            for column in self.bounds:
                require.choice(map(str, self.columns), bounds=column)
        elif self.columns == (None,) and (self.by or self.units.column):
            other = "by" if self.by else "unit"
            raise InvalidType(
                f"column must be given with {other}: the column whose quantiles are wanted"
            )
        if self.keys is not None and not self.by:
            raise InvalidValue("keys needs by, the columns that they are keys of")

    def _missing_policy(self) -> Any:
        if self.missing is None:
            return DROP
        if isinstance(self.missing, str) and not self.as_text:
            require.choice(MISSING_POLICIES, missing=self.missing)
        return self.missing

    @property
    def drops_first(self) -> bool:
        """Whether missing values leave before rows of units are chosen, or groups are counted.

        Under swap neighbors they stay until then, because public numbers include them.
        """
        return is_dropped(self.missing) and self.budget.neighbors is Neighbors.ADD_REMOVE

    def _public_size(self) -> int | dict[Any, int | None] | None:
        """The size that is stated; one for each key is possible only where there are groups."""
        neighbors = self.budget.neighbors
        if not self.by or not isinstance(self.size, Mapping):
            return require_size(self.size, neighbors)  # type: ignore[arg-type]
        sizes = self.size.items()
        return {key: require_size(require.count(size=size), neighbors) for key, size in sizes}

    @property
    def takes_table(self) -> bool:
        """Whether columns beside a single one matter."""
        return bool(self.by) or self.units.column is not None or self.describes

    @cached_property
    def price(self) -> Price:
        """The one division of the budget.

        A ledger counts the digits of a budget, so a charged job runs with the doubles just below.
        """
        granted = self.budget if self.account is None else self.budget.spendable
        row = granted.divided(len(self.columns))
        if self.units.column is not None:
            row = self.units.price(row, grouped=bool(self.by))
        if not isinstance(self.keys, str) or (self.as_text and self.keys != PRIVATE):
            return Price(row)
        require.choice((PRIVATE,), keys=self.keys)
        if row.neighbors is Neighbors.SWAP:
            raise InvalidValue(
                "keys='private' needs neighbors='add-remove': under swap neighbors each record's "
                "group counts as public, so there is nothing to select; list the keys instead"
            )
        if not isinstance(row, ApproxDP):
            raise InvalidValue(
                "keys='private' needs epsilon and delta: a group with a single record is released "
                "with a chance of at most delta, so choose it far below one over the number "
                "of records, for example delta=1e-6"
            )
        if self.size is not None:
            raise InvalidValue(
                "size must be left out with keys='private', which finds sizes as well; a mechanism "
                "that must be given sizes, such as slice_quantiles, needs a list of keys"
            )
        selection, rest = PrivateKeys.bought(row)
        return Price(rest, selection)

    @cached_property
    def usual(self) -> Mechanism | Bracketed:
        """The mechanism that is named, or JointExp where the choice is left to public numbers."""
        name = JointExp.name if self.mechanism == AUTO else self.mechanism
        return self.build(name, self.typical_size)

    def does_without_size(self, grid: Grid) -> bool:
        """Whether JointExp needs no number of records; for groups and intervals it always does."""
        joint = JointExp(q=tuple(sorted(set(self.q))), budget=self.price.draw)
        return not (self.by or self.intervals or joint.buys_size_on(grid))

    @property
    def typical_size(self) -> int | None:
        """One public number of records; of groups with different ones, the middle one."""
        if not isinstance(self.size, Mapping):
            return self.size
        sizes = sorted(self.size.values())
        return sizes[len(sizes) // 2] if sizes else None

    def build(
        self, name: str, size: int | None, domain: Domain = ANYTHING
    ) -> Mechanism | Bracketed:
        """The named mechanism for the distinct quantiles, in ascending order."""
        distinct = tuple(sorted(set(self.q)))
        if self.intervals is None:
            return registry.build(name, self.price.draw, q=distinct, size=size)
        return Bracketed(
            mechanism=name,
            budget=self.price.draw,
            q=distinct,
            intervals=self.intervals,
            size=size,
            domain=domain,
        )

    def choose(self, n: int, grid: Grid, source: SourceKind | None = None) -> Choice:
        """The mechanism for n records and why; n counts only where it is public.

        Where the records are counts too, except for groups, which are drawn together.
        """
        if self.mechanism != AUTO:
            return Choice(self.mechanism, "asked for")
        size = n if self.budget.neighbors is Neighbors.SWAP else self.typical_size
        m, small = answers(self.q, self.intervals), negligible(self.q)
        choice = choose(self.price.draw, m, size, grid, source, small)
        return (
            choice._replace(why=f"one choice for all groups: {choice.why}") if self.by else choice
        )

    def promise(self, draws: Iterable[Guarantee] | None = None) -> Guarantee:
        """What a release states, given what its draws guarantee; by default, those of `usual`.

        That is the budget, without a delta where no draw needs it.
        """
        made = [self.usual.guarantee] if draws is None else list(draws)
        research_only = any(guarantee.research_only for guarantee in made)
        stated = replace(self.budget, unit=self.units.column, research_only=research_only)
        if self.by and self.budget.neighbors is Neighbors.SWAP:
            stated = replace(stated, within=self.by)
        pure = all(isinstance(guarantee, PureDP) for guarantee in made) and self.price.keys is None
        return stated.without_delta if pure else stated

    def parameters(self) -> dict[str, object]:
        """What must be the same when a request is repeated, beside budget and account."""
        named = Named.of(self.data) if isinstance(self.data, (str, Path)) else self.data
        source = {"source": _digest(named) if isinstance(named, Named) else None}
        if isinstance(named, Named) and named.type is not None:
            source["type"] = named.type
        if isinstance(named, Named):
            source |= named.dialect.stated
        column = self.columns[0]
        columns: dict[str, object] = {"column": column, "bounds": self.bounds.get(column)}
        if self.describes:
            columns = {"columns": list(self.columns)}
            columns["bounds"] = str(sorted(map(str, self.bounds.items())))
        names = ("q", "resolution", "grid", "missing", "mechanism", "intervals")
        stated = {name: getattr(self, name) for name in names}
        units = {"size": self.typical_size, "rows": self.units.rows}
        units |= {} if self.min_size is None else {"min_size": self.min_size}
        parameters = {**columns, **stated, **units, **source}
        return {name: _plain(value) for name, value in parameters.items()}


def _digest(named: Named) -> str:
    """Which data was named, as a hash, because addresses may hold passwords."""
    from dpquantiles.ledger.entries import canonical, digest

    return digest(canonical(named.parts))


def _plain(value: Any) -> object:
    """A public parameter as a ledger writes it down: what is not a plain value is text."""
    if isinstance(value, tuple):
        return str([_plain(item) for item in value])
    if isinstance(value, Grid):
        return str(value.describe())
    return value if value is None or type(value) in (bool, int, float, str, list) else str(value)
