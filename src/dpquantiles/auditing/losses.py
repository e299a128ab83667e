"""How much two exact laws lose, in the measure of a guarantee.

With P, Q the probabilities that two neighbors give each outcome, in both directions:

    pure           max ln(P / Q)                                                               (1)
    approximate    the least epsilon with  sum of max(0, P - exp(epsilon) Q) <= delta          (2)
    concentrated   max over orders a of  ln(sum of P^a Q^(1-a)) / (a (a - 1))                  (3)

An outcome may come with exact counts, to which discrete Laplace noise of a rate e is added: a count
that moves by d adds e |d| to the logarithm in (1), and its own Renyi divergence to that in (3).
"""

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from dpquantiles.kernels.algebra import Floats
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee
from dpquantiles.views.protocol import Ints

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


class Counts(NamedTuple):
    """Exact counts, and the rate of the noise that is added to each."""

    exact: Ints
    rate: float


class Law(NamedTuple):
    """All outcomes of a mechanism on some records, their log probabilities, and their counts."""

    outcomes: tuple[Hashable, ...]
    logs: Floats
    counts: tuple[Counts, ...] = ()


def loss(guarantee: Guarantee, one: Law, other: Law) -> float:
    """(1), (2) or (3); infinite where the outcomes themselves differ."""
    if one.outcomes != other.outcomes:
        return math.inf
    both = list(zip(one.counts, other.counts, strict=True))
    moved = np.array([np.abs(a.exact - b.exact).sum() for a, b in both], dtype=np.float64)
    rates = np.array([max(a.rate, b.rate) for a, b in both])
    directions = ((one.logs, other.logs), (other.logs, one.logs))
    with np.errstate(all="ignore"):
        if isinstance(guarantee, ZCDP):
            return max(
                _renyi(p, q, order, moved, rates) / order for p, q in directions for order in ORDERS
            )
        if isinstance(guarantee, ApproxDP) and guarantee.delta and not one.counts:
            return max(_least_epsilon(p, q, guarantee.delta) for p, q in directions)
        noise = rates * moved if one.counts else 0.0
        return float(np.nanmax(np.abs(one.logs - other.logs) + noise, initial=0.0))


def _renyi(p: Floats, q: Floats, order: float, moved: Floats, rates: Floats) -> float:
    """The Renyi divergence of an order, with that of the noise on the counts of each outcome."""
    logs = order * p + (1 - order) * q
    if len(moved):
        logs = logs + (order - 1) * moved * _noise_renyi(rates, order)
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
    """(2): the worst sets are those of all outcomes whose ratio is above some number."""
    order = np.argsort(q - p, kind="stable")
    order = order[np.isfinite(p[order])]
    above, below = np.exp(p[order]).cumsum(), np.exp(q[order]).cumsum()
    return float(np.nanmax(np.log(np.maximum(above - delta, 0.0)) - np.log(below), initial=0.0))
