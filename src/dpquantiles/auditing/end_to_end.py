"""Statistical checks of the installed package: real releases of two neighbors, side by side."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpquantiles import api
from dpquantiles.auditing.checks import Check, Found, in_short
from dpquantiles.auditing.events import Failed, caught, public
from dpquantiles.auditing.exact import PAIR, SINGLE
from dpquantiles.auditing.statistical import evidence
from dpquantiles.errors import MissingBackend
from dpquantiles.mechanisms import registry
from dpquantiles.planner import AUTO
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, budget
from dpquantiles.sources import frames

BOUNDS = (0, 4)
PAIRS = {
    Neighbors.SWAP: ((0, 0, 2), (0, 2, 4)),
    Neighbors.ADD_REMOVE: ((0,), (0, 4)),
}
"""Small neighbors that most mechanisms tell apart about as well as any."""

SIZE = 1
"""The stated number of records under add-remove neighbors."""

EPSILON = 2.0
"""The claim: at less, many more draws are needed to see any loss, at more to see all of it."""

DELTA = 0.01
"""For mechanisms that promise an epsilon only together with a delta."""

GROUPS = 20_000
"""Groups of equal records that are released by one call: each is a draw."""

KEYS_EPSILON, KEYS_DELTA, KEYS_PAIR = 5.0, 0.05, ((1,) * 3, (1,) * 4)
"""A budget at which groups of so many records are sometimes found, and sometimes not."""


class Counts(NamedTuple):
    """How many draws of each neighbor are made."""

    one_by_one: int
    """All such releases together."""
    by_group: int


class Planned(NamedTuple):
    """A release that is to be audited."""

    subject: str
    stated: Guarantee
    pair: tuple[tuple[int, ...], tuple[int, ...]]
    draws: Callable[[tuple[int, ...], int], Sequence[Any]]
    """So many results on some records."""


def checks(names: Sequence[str], extras: bool, counts: Counts, risk: float) -> list[Check]:
    """Draws from mechanisms, and with `extras` from all else that a release may do.

    `risk` is the chance that any of them is wronged.
    """
    single = [*_mechanisms(names), *(_extras() if extras else ())]
    grouped = list(_by_group()) if extras else []
    each = risk / (len(single) + len(grouped))
    count = counts.one_by_one // len(single)
    return [
        *(_check(planned, count, each) for planned in single),
        *(_check(planned, counts.by_group, each) for planned in grouped),
    ]


def _mechanisms(names: Iterable[str]) -> Iterator[Planned]:
    """Mechanisms, by calls of `quantiles`."""
    for name in names:
        for relation in registry.MECHANISMS[name].profile.neighbors:
            q = SINGLE if name == "slice_quantiles" else PAIR
            options = {"mechanism": name, "bounds": BOUNDS, "q": q, **asked(name, relation)}
            yield _single(name, relation, options)


def _extras() -> Iterator[Planned]:
    """What releases do beside drawing from one mechanism on a small grid."""
    for relation in Neighbors:
        yield _single(f"{AUTO}, no bounds", relation, {"epsilon": EPSILON, "q": PAIR})
    joint = {"epsilon": EPSILON, "q": PAIR, "bounds": BOUNDS, "mechanism": "joint_exp"}
    yield _single("a bought size", Neighbors.ADD_REMOVE, joint)
    for relation in Neighbors:
        yield _single("intervals", relation, {**joint, "intervals": True})


def asked(name: str, relation: str) -> dict[str, Any]:
    """A budget of about EPSILON that the mechanism can meet, and a public size if it wants one."""
    profile = registry.MECHANISMS[name].profile
    options: dict[str, Any] = {"neighbors": str(relation)}
    if relation == Neighbors.ADD_REMOVE and profile.uses_size:
        options["size"] = SIZE
    if "pure" in profile.kinds:
        return {**options, "epsilon": EPSILON}
    if "approximate" in profile.kinds:
        return {**options, "epsilon": EPSILON, "delta": DELTA}
    return {**options, "rho": EPSILON**2 / 2}


def _single(subject: str, relation: str, options: dict[str, Any]) -> Planned:
    def release(records: np.ndarray[Any, Any]) -> Any:
        return public(api.quantiles(records, **{**options, "neighbors": str(relation)}))

    def draws(records: tuple[int, ...], count: int) -> list[Any]:
        data = np.array(records, dtype=np.int64)
        return [caught(release, data) for _ in range(count)]

    stated = {name: options[name] for name in ("epsilon", "delta", "rho") if name in options}
    guarantee = budget(**stated, neighbors=relation)
    return Planned(subject, guarantee, PAIRS[guarantee.neighbors], draws)


def _by_group() -> Iterator[Planned]:
    """JointExp and the selection of groups, many at once, where a library for tables is there."""
    try:
        backend = frames.any_backend()
    except MissingBackend:
        return
    joint = {"bounds": BOUNDS, "mechanism": "joint_exp"}
    for relation in Neighbors:
        draws = partial(_groups, backend, {**joint, **asked("joint_exp", relation)})
        stated = budget(epsilon=EPSILON, neighbors=relation)
        yield Planned("groups", stated, PAIRS[relation], draws)
    spent = {"epsilon": KEYS_EPSILON, "delta": KEYS_DELTA, "neighbors": Neighbors.ADD_REMOVE}
    draws = partial(_groups, backend, {**joint, **spent, "keys": "private"})
    yield Planned("private keys", budget(**spent), KEYS_PAIR, draws)  # type: ignore[arg-type]


def _groups(
    backend: str, options: dict[str, Any], records: tuple[int, ...], count: int
) -> list[Any]:
    """Draws from equal groups: one record of one group changes that group alone."""
    drawn: list[Any] = []
    while len(drawn) < count:
        keys = list(range(min(GROUPS, count - len(drawn))))
        columns = {"x": list(records) * len(keys), "g": np.repeat(keys, len(records)).tolist()}
        table = frames.frame(columns, backend)
        release = api.quantiles(table, PAIR, column="x", by="g", **{"keys": keys, **options})
        sizes: Any = release.provenance.get("sizes", [0] * len(release.keys))
        shown = zip(release.keys, release.values, sizes, strict=True)
        found = {key: (*values, size) for (key,), values, size in shown}
        drawn += [found.get(key, "hidden") for key in keys]
    return drawn


def _check(planned: Planned, count: int, risk: float) -> Check:
    stated = planned.stated
    promise = stated.approximate(DELTA) if isinstance(stated, ZCDP) else stated

    def run() -> Found:
        one, other = (planned.draws(records, count) for records in planned.pair)
        failed = next((drawn for drawn in (*one, *other) if isinstance(drawn, Failed)), None)
        if failed is not None:
            return Found(math.inf, len(one) + len(other), f"a release raised {failed.error}")
        found = evidence(one, other, getattr(promise, "delta", 0.0), risk)
        return Found(found.epsilon, len(one) + len(other), str(found))

    return Check(
        subject=planned.subject,
        neighbors=str(stated.neighbors),
        method="statistical",
        claim=in_short(promise),
        limit=promise.epsilon,
        run=run,
    )
