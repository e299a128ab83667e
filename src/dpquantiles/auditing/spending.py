"""Spending checks: the parts of a budget, as exact fractions, are never more than the budget.

Each mechanism's parts are priced as its proof says. Budgets of many sizes are tried, because
rounding could go wrong at any of them. A real release must not state more than its budget either.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpquantiles import api
from dpquantiles.auditing.checks import SINGLE, Check, Worst, budgets, stated
from dpquantiles.errors import DemandTooLarge
from dpquantiles.grid import UniformGrid
from dpquantiles.mechanisms import MECHANISMS, registry, slice_quantiles
from dpquantiles.mechanisms.bracketed import RANK_SHARE
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.results import Release

ADD_REMOVE = Neighbors.ADD_REMOVE
CLAIM = "a budget"

Q = (0.1, 0.5, 0.75)
RECORDS = np.arange(64)
POINTS = (2, 64, 2**20)
"""The sizes of the grids on which a budget is divided."""

SEED = 20130601
"""The seed of the budgets that are tried; nothing private is drawn with it."""

LEAST, MOST = 0.05, 1e3


def checks(names: Iterable[str], count: int) -> Iterator[Check]:
    """Checks of the parts of so many budgets, and of the guarantees of real releases."""
    for name in names:
        for relation in MECHANISMS[name].profile.neighbors:
            run = partial(_worst, name, Neighbors(relation), count)
            yield Check(name, relation, "spending", CLAIM, 1.0, run)


def extra_checks(count: int) -> Iterator[Check]:
    """Checks of intervals and private keys, which are bought besides answers."""
    for subject, relation, parts in (
        ("intervals", Neighbors.SWAP, intervals),
        ("private keys", ADD_REMOVE, private_keys),
    ):
        run = partial(_worst_parts, parts, count)
        yield Check(subject, str(relation), "spending", CLAIM, 1.0, run)


def amounts(count: int) -> list[float]:
    """Budgets of many sizes, none of them round."""
    logs = np.random.default_rng(SEED).uniform(math.log(LEAST), math.log(MOST), count)
    return [float(amount) for amount in np.exp(logs)]


def _worst(name: str, relation: Neighbors, count: int) -> Worst:
    shares = [
        share
        for amount in amounts(count)
        for budget in budgets(name, relation, amount)
        for size in _sizes(name, relation)
        for share in shares_spent(name, budget, size)
    ]
    # A mechanism that refuses every budget has shown nothing.
    return Worst(max(shares, default=math.inf), len(shares))


def _worst_parts(parts: Callable[[float], Fraction], count: int) -> Worst:
    shares = [parts(amount) for amount in amounts(count)]
    return Worst(max(shares), len(shares))


def _sizes(name: str, relation: Neighbors) -> tuple[int | None, ...]:
    """A stated size and a bought one (None), as far as the mechanism accepts them."""
    uses = MECHANISMS[name].profile.uses_size
    if relation is Neighbors.SWAP or not uses:
        return (None,)
    return (len(RECORDS),) if name == "slice_quantiles" else (len(RECORDS), None)


def shares_spent(name: str, budget: Guarantee, size: int | None) -> Iterator[Fraction]:
    """The sums of parts on each grid, and a release's guarantee, as shares of the budget."""
    whole = Fraction(budget.amount)
    try:
        q = SINGLE if name == "slice_quantiles" else Q
        mechanism = registry.build(name, budget, q=q, size=size)
        options = {"bounds": (0, 1000), "mechanism": name, "size": size, **stated(budget)}
        release: Release = api.quantiles(RECORDS, q, **options)
    except ValueError:
        # The mechanism refuses this budget because of public numbers, so nothing is spent.
        return
    assert release.guarantee is not None
    if release.guarantee.kind == budget.kind:
        yield Fraction(release.guarantee.amount) / whole
    for points in POINTS if name in PARTS else ():
        for parts in PARTS[name](mechanism, points):
            yield sum(parts, Fraction(0)) / Fraction(mechanism.guarantee.amount)


Parts = Iterator[tuple[Fraction, ...]]


def noise_price(budget: Guarantee, rate: float | Fraction) -> Fraction:
    """The price of noise on a number that moves by one: the rate, or half its square for rho."""
    return Fraction(rate) ** 2 / 2 if isinstance(budget, ZCDP) else Fraction(rate)


def count_and_rest(mechanism: Any, points: int) -> Parts:  # noqa: ARG001
    """A bought number of records, and the rest of the budget."""
    if mechanism.buys_size:
        count, priced = mechanism.priced()
        yield noise_price(mechanism.budget, count.rate), Fraction(priced.budget.amount)


def even_rounds(mechanism: Any, points: int) -> Parts:
    """Rounds at the same epsilon each."""
    yield from count_and_rest(mechanism, points)
    if mechanism.guarantee.kind == "pure":
        yield (Fraction(mechanism.each) * mechanism.parts(len(mechanism.q)),)


def levels(mechanism: Any, points: int) -> Parts:
    """A record is in one count of each level of a tree, and a swap in two."""
    for height in (1, 3, min(6, max(1, points.bit_length()))):
        nodes = height * (2 if mechanism.guarantee.neighbors is Neighbors.SWAP else 1)
        yield (nodes * noise_price(mechanism.guarantee, mechanism.rate(height)),)


def stages(mechanism: Any, points: int) -> Parts:
    """The prices of the count, the question and the cells, and the rest of the budget."""
    divided = [stage for stage in mechanism.stages(points) if stage is not None]
    yield tuple(Fraction(stage.amount) for stage in divided)
    noisy = (noise_price(stage, stage.noise_rate) for stage in divided[:-1])
    yield (*noisy, Fraction(divided[-1].amount))


def walks(mechanism: Any, points: int) -> Parts:  # noqa: ARG001
    """One walk per quantile, at the price (5) of `above_threshold.py`."""
    if mechanism.guarantee.kind == "pure":
        swap = mechanism.neighbors is Neighbors.SWAP
        factors = {q: Fraction(2) if swap else 1 + max(Fraction(q), 1 - Fraction(q)) for q in Q}
        yield tuple(mechanism.rate(q) * factors[q] for q in mechanism.q)


def noisy_rank(mechanism: Any, points: int) -> Parts:
    """The price (5) of `slice_quantiles.py` for one quantile."""
    try:
        plan = mechanism.plan(len(RECORDS), UniformGrid(0, points - 1, 1))
    except DemandTooLarge:
        return
    whole, shrinking = (3, 2) if mechanism.neighbors is Neighbors.SWAP else (2, 1)
    edge = Fraction(math.log1p(1 / (2 * plan.margin))) * (1 + Fraction(1, 2**50))
    nodes = slice_quantiles.diameter(1) if mechanism.neighbors is Neighbors.SWAP else 1
    yield nodes * plan.noise, plan.decay * (whole + Fraction(shrinking, plan.slope)), edge


PARTS: dict[str, Callable[[Any, int], Parts]] = {
    "joint_exp": count_and_rest,
    "recursive_joint_exp": even_rounds,
    "approx_quantiles": even_rounds,
    "ind_exp": even_rounds,
    "app_ind_exp": count_and_rest,
    "agg_tree": levels,
    "adaptive_tree": stages,
    "fitted": stages,
    "above_threshold": walks,
    "slice_quantiles": noisy_rank,
}
"""By the name of the mechanism; mechanisms that are not listed do not divide a budget."""


def intervals(amount: float) -> Fraction:
    """The measured ranks and the answers, for an epsilon and for a rho."""
    shares = []
    for budget in (PureDP(epsilon=amount), ZCDP(rho=amount)):
        ranks, rest = budget.split(RANK_SHARE)
        noise = budget.neighbors.records * noise_price(budget, ranks.counting_rate())
        shares.append((noise + Fraction(rest.amount)) / Fraction(amount))
    return max(shares)


def private_keys(amount: float) -> Fraction:
    """The selection of groups, and their answers."""
    budget = ApproxDP(epsilon=amount, delta=1e-6, neighbors=ADD_REMOVE)
    selection, rest = PrivateKeys.bought(budget)
    return (Fraction(selection.epsilon) + Fraction(rest.amount)) / Fraction(amount)
