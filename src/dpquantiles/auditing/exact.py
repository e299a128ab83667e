"""Exact checks: the law of a mechanism on all small data sets, compared for all neighbors.

Two neighbors give each outcome the probabilities P and Q. In both directions, their loss is

    pure           max ln(P / Q)                                                               (1)
    approximate    the least epsilon with  sum of max(0, P - exp(epsilon) Q) <= delta          (2)
    concentrated   max over orders a of  ln(sum of P^a Q^(1-a)) / (a (a - 1))                  (3)

An outcome may come with exact counts, to which discrete Laplace noise of a rate e is added. A count
that moves by d adds e |d| to the logarithm in (1), and its own Renyi divergence to the one in (3).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from dpquantiles.auditing import laws
from dpquantiles.auditing.checks import Check, Worst, budgets, in_short, quantiles_of, size_of
from dpquantiles.auditing.laws import ExactLaw, Records, small
from dpquantiles.kernels.algebra import Floats
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors
from dpquantiles.views.protocol import Ints

POINTS = 5
"""The points of the grid: one more than a cell has parts, so that trees are cut."""

SIZE = 2
"""The stated number of records under add-remove neighbors."""

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
"""The orders of the Renyi divergences in (3)."""

ROUNDING = 1e-9
"""More than the rounding error of an evaluated loss, and far less than any flaw would add."""

KEYS, MOST_COUNTED = ((1.0, 0.001), (0.2, 0.01)), 12
"""The budgets of a private selection of groups, and the most records of a group."""


def checks(
    names: Iterable[str], sizes: Sequence[int], epsilons: Sequence[float]
) -> Iterator[Check]:
    """Checks of all kinds of budgets and neighbors, for mechanisms whose laws are exact."""
    exact = [name for name in names if name in laws.LAWS]
    for name, epsilon in itertools.product(exact, epsilons):
        for relation in MECHANISMS[name].profile.neighbors:
            for budget in budgets(name, relation, epsilon):
                size = size_of(name, relation, SIZE)
                mechanism = registry.build(name, budget, q=quantiles_of(name), size=size)
                # A mechanism that turns a rho into an epsilon makes no claim about rho.
                if mechanism.guarantee.kind == budget.kind:
                    limit, run = mechanism.guarantee.amount, partial(worst_case, mechanism, sizes)
                    yield Check(name, relation, "exact", in_short(budget), limit, run, ROUNDING)


def worst_case(mechanism: Any, sizes: Sequence[int], points: int = POINTS) -> Worst:
    """The largest loss over all pairs of neighbors whose first data set has one of these sizes."""

    @cache
    def law(records: Records) -> ExactLaw:
        return laws.LAWS[mechanism.name](mechanism, records, points)

    guarantee, worst, cases, where = mechanism.guarantee, 0.0, 0, ""
    for one, other in pairs(guarantee.neighbors, sizes, points):
        lost, cases = loss(guarantee, law(one), law(other)), cases + 1
        if not lost <= worst:
            worst, where = lost, f"records {list(one)} beside {list(other)}"
    return Worst(worst, cases, where)


def pairs(
    neighbors: Neighbors, sizes: Sequence[int], points: int
) -> Iterator[tuple[Records, Records]]:
    """All pairs of neighbors whose first data set has one of these sizes, each pair once.

    A record is a point of the grid, or missing.
    """
    for n in sizes:
        for records in small(points + 1, n):
            if neighbors is Neighbors.ADD_REMOVE:
                for extra in range(points + 1):
                    yield records, tuple(sorted((*records, extra)))
            else:
                for gone, new in itertools.product(range(n), range(points + 1)):
                    swapped = tuple(sorted((*records[:gone], *records[gone + 1 :], new)))
                    if records < swapped:
                        yield records, swapped


def loss(guarantee: Guarantee, one: ExactLaw, other: ExactLaw) -> float:
    """The loss (1), (2) or (3); infinite if the outcomes themselves differ."""
    if one.outcomes != other.outcomes:
        return math.inf
    both = list(zip(one.counts, other.counts, strict=True))
    moved = [np.abs(a.exact - b.exact) for a, b in both]
    rates = [np.maximum(a.rates, b.rates) for a, b in both]
    directions = ((one.logs, other.logs), (other.logs, one.logs))
    with np.errstate(all="ignore"):
        if isinstance(guarantee, ZCDP):
            return max(
                _renyi(p, q, order, moved, rates) / order for p, q in directions for order in ORDERS
            )
        if isinstance(guarantee, ApproxDP) and guarantee.delta and not one.counts:
            return max(_least_epsilon(p, q, guarantee.delta) for p, q in directions)
        noise = _added(moved, rates) if one.counts else 0.0
        return float(np.nanmax(np.abs(one.logs - other.logs) + noise, initial=0.0))


def _added(moved: Sequence[Ints], prices: Sequence[Floats]) -> Floats:
    """For each outcome, what its counts add up to at these prices for a move by one."""
    both = zip(moved, prices, strict=True)
    return np.array([(moves * price).sum() for moves, price in both])


def _renyi(
    p: Floats, q: Floats, order: float, moved: Sequence[Ints], rates: Sequence[Floats]
) -> float:
    """The Renyi divergence of an order, including the noise on the counts of each outcome."""
    logs = order * p + (1 - order) * q
    if moved:
        prices = [_noise_renyi(rate, order) for rate in rates]
        logs = logs + (order - 1) * _added(moved, prices)
    logs = logs[np.isfinite(p)]
    top = float(logs.max())
    if top == math.inf:
        return math.inf
    return (top + math.log(np.exp(logs - top).sum())) / (order - 1)


def _noise_renyi(rates: Floats, order: float) -> Floats:
    """The divergence between discrete Laplace noise and itself, moved by one."""
    apart = np.logaddexp(rates * (order - 1), -rates * order) - np.log1p(np.exp(-rates))
    return np.asarray(apart / (order - 1))


def _least_epsilon(p: Floats, q: Floats, delta: float) -> float:
    """The loss (2). The worst sets hold all outcomes whose ratio is above some number."""
    order = np.argsort(q - p, kind="stable")
    order = order[np.isfinite(p[order])]
    above, below = np.exp(p[order]).cumsum(), np.exp(q[order]).cumsum()
    return float(np.nanmax(np.log(np.maximum(above - delta, 0.0)) - np.log(below), initial=0.0))


def keys_checks() -> Iterator[Check]:
    """Checks of private keys: one record is added to a group of any size."""
    for epsilon, delta in KEYS:
        budget = ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
        keys = PrivateKeys(budget=budget)
        about = ("private keys", str(Neighbors.ADD_REMOVE), "exact", in_short(keys.guarantee))
        yield Check(*about, epsilon, partial(_worst_selection, keys), ROUNDING)


def _worst_selection(keys: PrivateKeys) -> Worst:
    by_size = [laws.of_keys(keys, n, MOST_COUNTED) for n in range(MOST_COUNTED)]
    losses = [loss(keys.guarantee, *pair) for pair in itertools.pairwise(by_size)]
    return Worst(max(losses), len(losses))
