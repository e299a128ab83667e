"""Checks of real releases: draws from two neighbors, and hostile records."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpquantiles import api, privacy
from dpquantiles.auditing.checks import (
    DELTA,
    PAIR,
    Check,
    Worst,
    budgets,
    in_short,
    quantiles_of,
    size_of,
    stated,
)
from dpquantiles.auditing.events import Failed, caught, public
from dpquantiles.auditing.laws import Records
from dpquantiles.auditing.statistical import evidence
from dpquantiles.errors import MissingBackend
from dpquantiles.grid import UniformGrid
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner import AUTO
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors
from dpquantiles.results import Release
from dpquantiles.sources import tables

BOUNDS = (0, 4)
PAIRS = {
    Neighbors.SWAP: ((0, 0, 2), (0, 2, 4)),
    Neighbors.ADD_REMOVE: ((0,), (0, 4)),
}
"""Small neighbors that most mechanisms distinguish about as well as any others."""

SIZE = 1
"""The stated number of records under add-remove neighbors."""

EPSILON = 2.0
"""The epsilon of most claims. A smaller loss, or all of a larger one, needs many more draws."""

GROUPS = 20_000
"""The groups of equal records that one call releases; each of them is a draw."""

FAR_APART = (0.1, 0.9)
"""Quantiles that need a size under add-remove neighbors; those of `PAIR` need none."""

KEYS = {"epsilon": 5.0, "delta": 0.05, "neighbors": Neighbors.ADD_REMOVE}
KEYS_PAIR = ((1,) * 3, (1,) * 4)
"""A budget at which groups of three or four records are sometimes selected, and sometimes not."""


class Drawn(NamedTuple):
    """A kind of release, and the two neighbors from which it is drawn."""

    subject: str
    budget: Guarantee
    pair: tuple[Records, Records]
    draw: Callable[[Records, int], Sequence[Any]]
    """A function that draws so many results from some records."""


def checks(
    names: Sequence[str], extras: bool, draws: int, group_draws: int, risk: float
) -> list[Check]:
    """Checks that draw from mechanisms and, with `extras`, from all other features of a release.

    For each neighbor, `draws` is the number of all single releases together, and `group_draws` is
    the number for each kind of release by group. `risk` bounds the chance that a true claim fails.
    """
    single = [*_mechanisms(names), *(_extras() if extras else ())]
    grouped = list(_by_group()) if extras else []
    each = risk / (len(single) + len(grouped))
    count = draws // len(single)
    return [
        *(_check(drawn, count, each) for drawn in single),
        *(_check(drawn, group_draws, each) for drawn in grouped),
    ]


def _check(drawn: Drawn, count: int, risk: float) -> Check:
    budget = drawn.budget
    promise = budget.approximate(DELTA) if isinstance(budget, ZCDP) else budget

    def run() -> Worst:
        one, other = (drawn.draw(records, count) for records in drawn.pair)
        cases = len(one) + len(other)
        failed = next((output for output in (*one, *other) if isinstance(output, Failed)), None)
        if failed is not None:
            return Worst(math.inf, cases, f"a release raised {failed.error}")
        best = evidence(one, other, getattr(promise, "delta", 0.0), risk)
        return Worst(best.epsilon, cases, str(best))

    about = (drawn.subject, str(budget.neighbors), "statistical", in_short(promise))
    return Check(*about, promise.epsilon, run)


def _options(name: str, relation: str) -> dict[str, Any]:
    """The options to call a mechanism with: about EPSILON, and a public size if it needs one."""
    budget, size = next(budgets(name, relation, EPSILON)), size_of(name, relation, SIZE)
    return {"q": quantiles_of(name), "mechanism": name, "size": size, **stated(budget)}


def _mechanisms(names: Sequence[str]) -> Iterator[Drawn]:
    for name in names:
        for relation in MECHANISMS[name].profile.neighbors:
            yield _single(name, {"bounds": BOUNDS, **_options(name, relation)})


def _extras() -> Iterator[Drawn]:
    """Releases that use more than one mechanism on a small grid."""
    for relation in Neighbors:
        auto = {"q": PAIR, "epsilon": EPSILON, "neighbors": relation}
        yield _single(f"{AUTO}, no bounds", auto)
    joint = {"q": PAIR, "epsilon": EPSILON, "bounds": BOUNDS, "mechanism": "joint_exp"}
    yield _single("no size", {**joint, "neighbors": Neighbors.ADD_REMOVE})
    yield _single("a bought size", {**joint, "q": FAR_APART, "neighbors": Neighbors.ADD_REMOVE})
    for relation in Neighbors:
        yield _single("intervals", {**joint, "neighbors": relation, "intervals": True})


def _single(subject: str, options: dict[str, Any]) -> Drawn:
    def release(records: np.ndarray[Any, Any]) -> Any:
        return public(api.quantiles(records, **options))

    def draw(records: Records, count: int) -> list[Any]:
        data = np.array(records, dtype=np.int64)
        return [caught(release, data) for _ in range(count)]

    numbers = ("epsilon", "delta", "rho", "neighbors")
    budget = privacy.budget(**{name: options[name] for name in numbers if name in options})
    return Drawn(subject, budget, PAIRS[budget.neighbors], draw)


def _by_group() -> Iterator[Drawn]:
    """Releases of many groups at once and private keys, if a library for tables is installed."""
    try:
        backend = tables.any_backend()
    except MissingBackend:
        return
    for relation in Neighbors:
        draw = partial(_draw_groups, backend, _options("joint_exp", relation))
        budget = privacy.budget(epsilon=EPSILON, neighbors=relation)
        yield Drawn("groups", budget, PAIRS[relation], draw)
    private = {"q": PAIR, "mechanism": "joint_exp", "keys": "private", **KEYS}
    draw = partial(_draw_groups, backend, private)
    yield Drawn("private keys", privacy.budget(**KEYS), KEYS_PAIR, draw)  # type: ignore[arg-type]


def _draw_groups(backend: str, options: dict[str, Any], records: Records, count: int) -> list[Any]:
    """Draws from equal groups; a record of one group changes that group alone."""
    drawn: list[Any] = []
    while len(drawn) < count:
        keys = list(range(min(GROUPS, count - len(drawn))))
        columns = {"x": list(records) * len(keys), "g": np.repeat(keys, len(records)).tolist()}
        table, by = tables.frame(columns, backend), {"column": "x", "by": "g", "keys": keys}
        release: Any = api.quantiles(table, **{"bounds": BOUNDS, **by, **options})
        sizes: Any = release.provenance.get("sizes", [0] * len(release.keys))
        shown = zip(release.keys, release.values, sizes, strict=True)
        answers = {key: (*values, size) for (key,), values, size in shown}
        drawn += [answers.get(key, "hidden") for key in keys]
    return drawn


class Raises:
    """A record that raises an error in every operation."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("a record was asked for something")

    __float__ = __int__ = __index__ = __bool__ = __lt__ = __eq__ = __str__ = __repr__ = _refuse
    __hash__ = _refuse


HOSTILE: dict[str, Any] = {
    "nothing": [],
    "one record": [1.0],
    "missing": [None, float("nan"), np.float64("nan")],
    "infinite": [float("inf"), -float("inf"), 1.0],
    "huge": [1e308, -1e308, 10**400, -(10**400)],
    "denormal": [5e-324, -5e-324, -0.0, 0.0],
    "all equal": [2.0] * 50,
    "text": ["", "1", "nan", "\ud800"],
    "decimals": [Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+999999")],
    "lists": [[], [1.0], {}, {"a": 1}, ()],
    "objects that raise": [Raises(), Raises(), 1.0],
    "array of doubles": np.array([np.nan, np.inf, -np.inf, 1e308, 5e-324]),
    "array of objects": np.array([None, "x", Raises(), 10**400], dtype=object),
    "array of flags": np.array([True, False]),
    "array of nothing": np.array([], dtype=np.float64),
}
"""Hostile records, by a description."""

HOSTILE_GRID = UniformGrid(0.0, 4.0, 1.0)
"""It fixes the type, which is public, so that only the records differ."""


def hostile_checks(names: Sequence[str]) -> Iterator[Check]:
    """All mechanisms on all hostile records, for each relation."""
    for relation in Neighbors:
        able = [n for n in names if relation in MECHANISMS[n].profile.neighbors]
        if able:
            subject = able[0] if len(able) == 1 else f"{len(able)} mechanisms"
            run = partial(_count_failures, able, relation)
            yield Check(subject, str(relation), "hostile", "never raises", 0.0, run)


def _count_failures(names: Sequence[str], relation: Neighbors) -> Worst:
    failures = [
        f"{name} on {about}: {why}"
        for name, (about, data) in product(names, HOSTILE.items())
        if (why := _failure(data, {"grid": HOSTILE_GRID, **_options(name, relation)}))
    ]
    return Worst(len(failures), len(names) * len(HOSTILE), "; ".join(failures[:3]))


def _failure(data: Any, options: dict[str, Any]) -> str:
    """How a release of these records differs from one of harmless records; empty if it does not."""
    try:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            release = api.quantiles(data, **options)
    except Exception as error:
        return type(error).__name__
    return "" if _is_usual(release, options["q"]) else "another kind of release"


def _is_usual(release: Release, q: tuple[float, ...]) -> bool:
    """Whether a release has the shape, types and order that it has for any other records."""
    values = list(release.values)
    return (
        release.q == q
        and release.guarantee is not None
        and [type(value) for value in values] == [float] * len(q)
        and values == sorted(values)
        and all(0.0 <= value <= 4.0 and value == round(value) for value in values)
    )
