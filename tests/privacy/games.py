"""Games: an analyst who asks after looking at answers, and exactly what all of it gives away."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from random import Random
from statistics import NormalDist
from typing import Protocol

import numpy as np

from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, PureDP, zcdp_delta
from dpquantiles.privacy.conversions import below, reading
from dpquantiles.privacy.filters import Amount
from dpquantiles.privacy.spending import Part, Spending


def orders(count: int) -> np.ndarray:
    """Renyi orders from almost one to almost infinity."""
    return 1 + np.exp(np.linspace(math.log(1e-5), math.log(1e9), count))


COARSE, FINE = orders(1000), orders(20_000)
BETWEEN = 0.95
"""A step of the search for a chance; the last one is for orders between the coarse ones."""

Outcome = tuple[float, float]
"""The chance of an answer for one data set, and for its neighbor."""


@dataclass(frozen=True)
class Asked:
    """A charge, and a mechanism that spends all of it."""

    cost: Guarantee
    outcomes: tuple[Outcome, ...]
    part: Part | None = None


def response(epsilon: float) -> Asked:
    """Randomized response."""
    true = 1 / (1 + math.exp(-epsilon))
    return Asked(PureDP(epsilon=epsilon), ((true, 1 - true), (1 - true, true)))


def leak(epsilon: float, delta: float) -> Asked:
    """Randomized response that with a chance of delta tells everything."""
    noisy = tuple((p * (1 - delta), q * (1 - delta)) for p, q in response(epsilon).outcomes)
    return Asked(ApproxDP(epsilon=epsilon, delta=delta), ((delta, 0.0), *noisy, (0.0, delta)))


def gaussian(rho: float, cells: int) -> Asked:
    """A Gaussian of which the cell is told."""
    shift, law = math.sqrt(2 * rho), NormalDist()
    edges = [-math.inf, *np.linspace(-3, shift + 3, cells - 1), math.inf]
    chances = [
        (law.cdf(high - shift) - law.cdf(low - shift), law.cdf(high) - law.cdf(low))
        for low, high in pairwise(edges)
    ]
    return Asked(ZCDP(rho=rho), tuple(chances))


@lru_cache(maxsize=4096)
def rare(rho: float, loss: float) -> Asked:
    """A large loss, as probable as rho allows; its other answer says next to nothing."""
    tail, mean = -((loss - rho) ** 2) / (4 * rho), math.log(rho / (loss + math.expm1(-loss)))
    chance = math.exp(min(tail, mean, -1e-3))
    while chance and divergence_ratio(_two(chance, loss), COARSE) > rho:
        chance *= BETWEEN
    return Asked(ZCDP(rho=rho), _two(chance * BETWEEN, loss))


def _two(chance: float, loss: float) -> tuple[Outcome, ...]:
    other = chance * math.exp(-loss)
    return (chance, other), (1 - chance, 1 - other)


def divergence_ratio(outcomes: Iterable[Outcome], orders: np.ndarray = FINE) -> float:
    """The least rho of a mechanism: the greatest Renyi divergence over its order, both ways."""
    p, q = np.array(list(outcomes)).T
    return max(_ratio(p, q, orders), _ratio(q, p, orders))


def _ratio(p: np.ndarray, q: np.ndarray, orders: np.ndarray) -> float:
    # Logarithms near zero from differences, so that small divergences are not lost.
    loss = np.where(p > 0.5, np.log1p((p - q) / q), np.log(p) - np.log(q))
    mean = (p * np.expm1(np.minimum(np.outer(orders - 1, loss), 600.0))).sum(axis=1)
    exponents = np.where(
        mean < 1e250, np.log1p(mean), (np.log(p) + np.outer(orders - 1, loss)).max(axis=1)
    )
    return float((exponents / (orders - 1) / orders).max())


class Account(Protocol):
    """What an analyst deals with."""

    def fits(self, cost: Guarantee) -> bool: ...
    def add(self, cost: Guarantee) -> None: ...
    def remaining(self, cost: Guarantee) -> float: ...


class Hindsight(Spending):
    """The wrong rule: the Renyi order that suits the charges so far, chosen anew every time."""

    def fits(self, cost: Guarantee, part: object = None) -> bool:
        assert part is None
        return any(map(self._holds, self._with(cost, None)))

    def _holds(self, total: Amount) -> bool:
        assert isinstance(self.budget, ApproxDP)
        epsilon = reading(self.budget.epsilon) - total.epsilon
        delta = reading(self.budget.delta) - total.delta
        if not total.rho:
            return epsilon >= 0 and delta >= 0
        if not (below(epsilon) > 0 and below(delta) > 0):
            return False
        return zcdp_delta(float(total.rho), below(epsilon)) <= below(delta)


def excess(leaves: Iterable[Outcome], epsilon: float) -> float:
    """The hockey-stick divergence: the delta of a mechanism at epsilon."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in leaves)


def elsewhere(cost: Guarantee, part: Part) -> Asked:
    """A charge on a part in which the record is not: the answer is the same for both."""
    return Asked(cost, ((0.5, 0.5), (0.5, 0.5)), part)


Branch = tuple[Outcome, tuple[Guarantee, ...]]
"""How probable a course of events is, and what was charged in it."""


def climb(account: Account, epsilon: float, rhos: Iterable[float]) -> Iterator[Branch]:
    """Wait for a large loss; once there is one, spend what is left on a pure answer.

    At every step some rho is spent on a loss that is rare, and that together with the greatest pure
    charge that would still be granted is more than epsilon.
    """
    p, q = 1.0, 1.0
    charged: tuple[Guarantee, ...] = ()
    for rho in rhos:
        step = ZCDP(rho=min(rho, account.remaining(ZCDP(rho=rho))) or math.ulp(0.0))
        if not account.fits(step):
            break
        account.add(step)
        charged = (*charged, step)
        left = account.remaining(PureDP(epsilon=epsilon))
        last = response(left) if left > 0 else None
        hit, missed = max(
            (rare(step.rho, max(epsilon - left, rho) + more).outcomes for more in MARGINS),
            key=lambda outcomes: excess(_then(outcomes[0], last), epsilon),
        )
        for a, b in _then(hit, last):
            yield (p * a, q * b), (charged if last is None else (*charged, last.cost))
        p, q = p * missed[0], q * missed[1]
    yield (p, q), charged


MARGINS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def _then(first: Outcome, second: Asked | None) -> list[Outcome]:
    if second is None:
        return [first]
    return [(first[0] * p, first[1] * q) for p, q in second.outcomes]


Menu = Sequence[Asked]
"""What an analyst may ask for."""


def granted(budget: Guarantee, path: Sequence[Asked], menu: Menu) -> list[Asked]:
    """What of a menu is granted after what was asked before."""
    account = Spending(budget)
    for asked in path:
        account.add(asked.cost, asked.part)
    return [
        asked
        for asked in menu
        if account.objection(asked.cost) is None and account.fits(asked.cost, asked.part)
    ]


def worst(budget: ApproxDP, menu: Menu, steps: int) -> float:
    """The delta of the best strategy: after every answer whichever granted charge gives most."""

    def gives(p: float, q: float, path: tuple[Asked, ...]) -> float:
        most = max(0.0, p - math.exp(budget.epsilon) * q)
        if len(path) < steps and p:
            for asked in granted(budget, path, menu):
                after = [gives(p * a, q * b, (*path, asked)) for a, b in asked.outcomes]
                most = max(most, math.fsum(after))
        return most

    return gives(1.0, 1.0, ())


def played(budget: Guarantee, menu: Menu, steps: int, random: Random) -> Iterator[Outcome]:
    """The courses of events of a strategy that takes another charge, or none, in each of them."""

    def courses(p: float, q: float, path: tuple[Asked, ...]) -> Iterator[Outcome]:
        choices = granted(budget, path, menu) if len(path) < steps else []
        if not choices or (path and random.random() < 0.1):
            yield p, q
            return
        asked = random.choice(choices)
        for a, b in asked.outcomes:
            yield from courses(p * a, q * b, (*path, asked))

    return courses(1.0, 1.0, ())
