"""Exact checks: the law of a mechanism on all small data sets, compared for all neighbors."""

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dpquantiles.auditing import laws
from dpquantiles.auditing.checks import Check, Found, in_short
from dpquantiles.auditing.losses import Law, loss
from dpquantiles.auditing.neighbors import Records, pairs
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP

POINTS = 5
"""Points of the grid: one more than a cell has parts, so that trees are cut."""

SIZE = 2
"""The stated number of records under add-remove neighbors."""

PAIR, SINGLE = (0.25, 0.75), (0.5,)

ROUNDING = 1e-9
"""More than doubles add to a loss that is evaluated, and far below any flaw."""

KEYS, MOST_COUNTED = ((1.0, 0.001), (0.2, 0.01)), 12
"""Budgets of a selection of groups, and how many records they have at most."""


def checks(
    names: Iterable[str], sizes: Sequence[int], epsilons: Sequence[float]
) -> Iterator[Check]:
    """All kinds of budgets and neighbors of these mechanisms."""
    for name, epsilon in itertools.product(names, epsilons):
        if name not in laws.LAWS:
            continue
        profile = registry.MECHANISMS[name].profile
        for relation, budget in itertools.product(profile.neighbors, budgets(profile, epsilon)):
            stated = replace(budget, neighbors=Neighbors(relation))
            mechanism = _mechanism(name, stated)
            # A mechanism that meets a rho by an epsilon claims nothing of its own.
            if mechanism.guarantee.kind == stated.kind:
                yield _check(mechanism, stated, sizes)


def budgets(profile: Any, epsilon: float) -> Iterator[Guarantee]:
    """One budget of each kind that says something of its own: pure ones need no delta."""
    if "pure" in profile.kinds:
        yield PureDP(epsilon=epsilon)
    elif "approximate" in profile.kinds:
        yield ApproxDP(epsilon=epsilon, delta=0.01)
    if "concentrated" in profile.kinds:
        yield ZCDP(rho=epsilon**2 / 2)


def _mechanism(name: str, budget: Guarantee) -> Any:
    profile = registry.MECHANISMS[name].profile
    sized = budget.neighbors is Neighbors.ADD_REMOVE and profile.uses_size
    q = SINGLE if name == "slice_quantiles" else PAIR
    return registry.build(name, budget, q=q, size=SIZE if sized else None)


def _check(mechanism: Any, budget: Guarantee, sizes: Sequence[int]) -> Check:
    return Check(
        subject=mechanism.name,
        neighbors=str(budget.neighbors),
        method="exact",
        claim=in_short(budget),
        limit=mechanism.guarantee.amount,
        run=partial(worst_case, mechanism, sizes),
        slack=ROUNDING,
    )


def worst_case(mechanism: Any, sizes: Sequence[int], points: int = POINTS) -> Found:
    """The largest loss over all neighbors, the first of each pair of these sizes."""
    law_of, known = laws.LAWS[mechanism.name], dict[Hashable, Law]()

    def law(records: Records) -> Law:
        if records not in known:
            known[records] = law_of(mechanism, records, points)
        return known[records]

    guarantee, worst, cases, where = mechanism.guarantee, 0.0, 0, ""
    for one, other in pairs(guarantee.neighbors, sizes, points):
        found, cases = loss(guarantee, law(one), law(other)), cases + 1
        if not found <= worst:
            worst, where = found, f"records {list(one)} beside {list(other)}"
    return Found(worst, cases, where)


def keys_checks() -> Iterator[Check]:
    """Groups that are found in the data: one record more in a group, whatever it has."""
    for epsilon, delta in KEYS:
        budget = ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
        keys = PrivateKeys(budget=budget)
        yield Check(
            subject="private keys",
            neighbors=str(Neighbors.ADD_REMOVE),
            method="exact",
            claim=in_short(keys.guarantee),
            limit=epsilon,
            run=partial(_worst_selection, keys),
            slack=ROUNDING,
        )


def _worst_selection(keys: PrivateKeys) -> Found:
    known = [laws.of_keys(keys, n, MOST_COUNTED) for n in range(MOST_COUNTED)]
    losses = [loss(keys.guarantee, *pair) for pair in itertools.pairwise(known)]
    return Found(max(losses), len(losses))
