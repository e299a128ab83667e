"""Cases by number: a call, its public parameters, and two data sets that it must not tell apart."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from random import Random
from typing import Any

from experiments.fuzz import parameters
from experiments.fuzz.columns import (
    INTEGERS,
    NAME_TYPES,
    VALUE_TYPES,
    ColumnType,
    Odd,
    odd_cells,
    odd_records,
)
from experiments.fuzz.datasets import Data, Public, pair
from experiments.fuzz.origins import ORIGINS, Origin
from experiments.fuzz.parameters import WRONG, Options

NEIGHBORS = ("swap", "add-remove")
FUNCTIONS = {"quantiles": 9, "short form": 3, "groups": 5, "describe": 2, "plan": 0.1}
"""What is called, and how often."""

AS_TEXT = ("csv", "csv pattern", "pandas objects")
"""Origins whose groups are told apart by text."""


@dataclass(frozen=True)
class Case:
    """Everything that one number stands for."""

    number: int
    function: str
    origin: str
    types: dict[str, ColumnType]
    arguments: tuple[Any, ...]
    options: Options
    neighbors: str
    budget: Options
    ledger: Options | None
    """The budget of a ledger that is charged, if one is."""
    strict: bool
    """Whether the caller's own settings turn every oddity of arithmetic into an error."""
    make_data: Callable[[], tuple[Data, Data]] = field(repr=False)

    @cached_property
    def data(self) -> tuple[Data, Data]:
        """Both data sets, drawn when they are first asked for: some only look at the call."""
        return self.make_data()

    @property
    def private(self) -> bool:
        """Whether random bits are the operating system's."""
        return "rng" not in self.options

    @property
    def seeded(self) -> Options:
        """The options of one call, with a generator of its own."""
        if self.private:
            return self.options
        return {**self.options, "rng": Random(self.options["rng"])}

    @property
    def known_late(self) -> bool:
        """Whether some public fact is found only when data are read, after the charge."""
        origin = ORIGINS[self.origin]
        counted = origin.lazy or "unit" in self.options or "by" in self.options
        return not origin.declared or (self.neighbors == "swap" and counted)


def build(number: int) -> Case:
    """The case of a number, always the same."""
    rng = Random(f"dpquantiles {number}")
    function = rng.choices(list(FUNCTIONS), list(FUNCTIONS.values()))[0]
    if function == "plan":
        return _plan(number, rng)
    neighbors = rng.choice(NEIGHBORS)
    tables = function in ("groups", "describe") or rng.random() < 0.5
    unit = _unit(rng, neighbors, function) if tables else {}
    names = [name for name, known in ORIGINS.items() if known.table == tables]
    name = rng.choices(names, [ORIGINS[known].weight for known in names])[0]
    origin, kind = ORIGINS[name], _value_type(rng, ORIGINS[name])
    types = {"v": kind, "w": rng.choice(INTEGERS)}
    types |= {column: rng.choice(NAME_TYPES) for column in ("g", "h", "u")}
    n = rng.choice((0, 1, 7, 12, 47, 47, 157, 157))
    n = 1511 if rng.random() < 0.02 else n
    n = n if origin.declared else max(n, 12)
    groups = _groups(rng, types, neighbors, name in AS_TEXT) if function == "groups" else {}
    budget = parameters.budget(rng, private_keys=groups.get("keys") == "private")
    values = {} if function == "describe" else parameters.values(rng, kind)
    options = {
        **budget,
        **_said(rng, neighbors),
        **groups,
        **unit,
        **values,
        **parameters.mechanism(rng, budget, neighbors),
        **parameters.missing(rng, kind, neighbors),
        **_stated(rng, n, neighbors, function, groups, unit),
    }
    arguments, options = _asked(rng, function, options, tables, kind)
    ledger = _ledger(rng, budget, neighbors)
    if ledger is not None:
        options |= {"dataset": "survey"}
        options |= rng.choice(({}, {"part": "region=north"}, {"request_id": "march"}))
    elif rng.random() < 0.6:
        options |= {"rng": rng.randrange(2**32)}
    stated = "grid" in options
    public = Public(
        types=types,
        neighbors=neighbors,
        fixed=frozenset(("g", "h")) if groups and neighbors == "swap" else frozenset(),
        grouped_by_unit=bool(unit),
        declared=origin.declared,
        odd=() if origin.declared else _odd(name, kind.family, stated),
    )
    return Case(
        number=number,
        function=rng.choice(parameters.SHORT_FORMS) if function == "short form" else function,
        origin=name,
        types=types,
        arguments=arguments,
        options=options,
        neighbors=neighbors,
        budget=budget,
        ledger=ledger,
        strict=rng.random() < 0.5,
        make_data=partial(pair, rng, public, n),
    )


def _stated(
    rng: Random, n: int, neighbors: str, function: str, groups: Options, unit: Options
) -> Options:
    """Sizes and intervals, mostly where they are allowed."""
    careless = rng.random() < WRONG
    sized = neighbors == "add-remove" and groups.get("keys") != "private"
    size = parameters.size(rng, n, groups.get("keys")) if sized or careless else {}
    alone = function != "describe" and (careless or not (groups or unit))
    return {**size, **(parameters.intervals(rng) if alone else {})}


def _value_type(rng: Random, origin: Origin) -> ColumnType:
    known = VALUE_TYPES[rng.choice(origin.families)]
    return rng.choice([kind for kind in known if origin.zoned or kind.zone is None])


def _odd(name: str, family: str, stated: bool) -> tuple[Odd, ...]:
    if name.startswith("csv"):
        return tuple(map(Odd, odd_cells(family)))
    return tuple(map(Odd, odd_records(family, stated)))


def _said(rng: Random, neighbors: str) -> Options:
    if rng.random() < WRONG:
        return {"neighbors": rng.choice(("swapp", None, 1))}
    return {} if neighbors == "swap" and rng.random() < 0.5 else {"neighbors": neighbors}


def _unit(rng: Random, neighbors: str, function: str) -> Options:
    chance = 0.3 if neighbors == "add-remove" else 0.1 if function == "groups" else 0.2
    if rng.random() > chance:
        return {}
    rows = rng.choice((1, 1, 2, 3, 10)) if neighbors == "add-remove" else 1
    if rng.random() < WRONG:
        return rng.choice(({"unit": "nobody"}, {"max_rows_per_unit": 2}, {"unit": 7}))
    return {"unit": "u"} if rows == 1 else {"unit": "u", "max_rows_per_unit": rows}


def _groups(rng: Random, types: dict[str, ColumnType], neighbors: str, as_text: bool) -> Options:
    by = rng.choice(("g", ["g"], ["g", "h"]))
    if rng.random() < WRONG:
        return rng.choice(({"by": "g"}, {"by": "v", "keys": [1]}, {"by": [], "keys": [1]}))
    if neighbors == "add-remove" and rng.random() < 0.3:
        return {"by": by, "keys": "private"}
    names = (by,) if isinstance(by, str) else tuple(by)
    keys = {tuple(_key(rng, name, types[name], as_text) for name in names): None for _ in range(4)}
    listed = list(keys) if len(names) > 1 else [key[0] for key in keys]
    return {"by": by, "keys": listed}


def _key(rng: Random, name: str, kind: ColumnType, as_text: bool) -> Any:
    value = f"{name}{kind.tick(rng)}" if kind.family == "text" else kind.value(kind.tick(rng))
    return str(value) if as_text else value


def _asked(
    rng: Random, function: str, options: Options, tables: bool, kind: ColumnType
) -> tuple[tuple[Any, ...], Options]:
    """The arguments before the options, and the options with the column."""
    if function == "describe":
        columns = rng.choice((["v", "w"], ["v"], ("w", "v")))
        if "v" in columns and rng.random() < 0.5:
            options = {**options, "bounds": {"v": parameters.bounds(rng, kind)}}
        return (columns,), {**options, "q": parameters.quantiles(rng)}
    if tables:
        column = rng.choice(("V", 7, None)) if rng.random() < WRONG else "v"
        options = {**options, "column": column}
    if function == "short form":
        return (), options
    return (parameters.quantiles(rng),), options


def _ledger(rng: Random, budget: Options, neighbors: str) -> Options | None:
    if rng.random() > 0.2 or not budget:
        return None
    room = {"epsilon": 1e300, "delta": 0.9} if "delta" in budget else {"epsilon": 1e300}
    room = {"rho": 1e300} if "rho" in budget else room
    room = dict.fromkeys(room, 0.5) if rng.random() < 0.15 else room
    return {**room, "neighbors": neighbors}


def _plan(number: int, rng: Random) -> Case:
    """A plan has no data at all; it is held to the rest of the rules."""
    neighbors, spent = rng.choice(NEIGHBORS), parameters.budget(rng)
    kind = rng.choice(VALUE_TYPES[rng.choice(list(VALUE_TYPES))])
    options = {**spent, "neighbors": neighbors, **parameters.values(rng, kind)}
    options |= {"size": rng.choice((1, 10, 1000, 10**6, 0, 2**53)), "q": parameters.quantiles(rng)}
    options |= rng.choice(({}, {"data": rng.choice(("smooth", "clustered", "tied", "odd"))}))
    nothing = Data((), ())
    return Case(
        number=number,
        function="plan",
        origin="nothing",
        types={},
        arguments=(),
        options=options,
        neighbors=neighbors,
        budget=spent,
        ledger=None,
        strict=False,
        make_data=lambda: (nothing, nothing),
    )
