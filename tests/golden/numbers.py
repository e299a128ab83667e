"""Public numbers and refusals behind the answers, each under the call that gives it.

A seeded answer hides small errors, because it is a grid point. What it is made of does not hide
them: constants, shares of budgets, windows, rates, laws on small data, and what is refused.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

import dpquantiles as dpq
from dpquantiles.grid import Grid
from dpquantiles.intervals import Intervals, MeasuredRanks, tails
from dpquantiles.kernels import algebra, cells, draws, many_draws, scans, tree
from dpquantiles.mechanisms import (
    MECHANISMS,
    above_threshold,
    adaptive_tree,
    agg_tree,
    bracketed,
    fitted,
    recursive_joint_exp,
    registry,
    slice_quantiles,
    told_apart,
)
from dpquantiles.mechanisms.baselines import csmooth
from dpquantiles.mechanisms.bracketed import RANK_SHARE, Bracketed
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.private_keys import PrivateKeys
from dpquantiles.mechanisms.told_apart import StepGrid
from dpquantiles.privacy import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbors,
    PureDP,
    composition,
    conversions,
)
from dpquantiles.privacy.filters import Filter
from dpquantiles.privacy.spending import Part, Spending
from tests.golden.stated import Case, case, plain, table
from tests.mechanisms.building import built

Q: dict[str, tuple[float, ...]] = {
    "median": (0.5,),
    "unsorted": (0.9, 0.1, 0.5),
    "deciles": tuple(k / 10 for k in range(1, 10)),
    "forty": tuple((k + 0.5) / 40 for k in range(40)),
}
BUDGETS: dict[str, Guarantee] = {
    f"{given.kind} {neighbors}": replace(given, neighbors=neighbors)
    for neighbors in dpq.Neighbors
    for given in (PureDP(epsilon=1.5), ApproxDP(epsilon=1.5, delta=1e-6), ZCDP(rho=0.125))
}
GRIDS: dict[str, Grid] = {
    "seven": dpq.UniformGrid(0, 6, 1),
    "fine": dpq.UniformGrid(0, 2**30, 1),
    "floats": dpq.FloatGrid(),
    "integers": dpq.FloatGrid(integral=True),
}
SMALL = dpq.ArrayView(np.array([1, 1, 2, 5]), GRIDS["seven"])


def of_numbers() -> Iterator[Case]:
    """All that follows from public numbers."""
    for part in (_privacy, _shares, _windows, _trees, _kernels, _laws, _measured):
        yield from part()


def _privacy() -> Iterator[Case]:
    yield from table(conversions.in_words, (0.1, 1 / 3, 2.0, 1e-7 / 3, 123456.7), (1, 6))
    calls = (1, 2, 7, 30)
    yield from table(conversions.composed_delta, (0.05, 0.5, 3.0), (0.05, 0.5, 1.0), calls)
    yield from table(conversions.per_call_epsilon, (0.1, 1.0), (1e-9, 1e-5, 0.5), calls)
    yield from table(conversions.composed_epsilon, (0.05, 1.0), (1e-9, 1e-5, 0.5), calls)
    ranges = (1e-9, 0.01, 0.0999, 0.1, 0.1001, 1.0, 30.0, 699.9, 700.0, 700.1, 1e6)
    yield from table(conversions.bounded_range_rho, ranges)
    amounts = (1e-9, 1e-4, 0.01, 0.5, 3.0, 400.0, 1e5)
    yield from table(conversions.bounded_range_eta, amounts)
    yield from table(conversions.zcdp_delta, amounts, (0.0, 0.01, 1.0, 20.0))
    yield from table(conversions.zcdp_epsilon, amounts, (1e-12, 1e-6, 0.5))
    yield from table(conversions.zcdp_rho, amounts, (1e-12, 1e-6, 0.5))
    yield from table(conversions.renyi_excess, (0.01, 1.0, 20.0), (1e-12, 1e-6, 0.4))
    yield from table(conversions.renyi_limit, (0.3, 1.0, 9.0), (0.01, 1.0), (1e-12, 0.4))
    yield from table(conversions.renyi_epsilon, (0.0, 0.5), (1e-6, 0.1), (1e-12, 0.4))
    for name, budget in BUDGETS.items():
        yield case(f"{name} as swap", budget.as_swap)
        if not isinstance(budget, ApproxDP):
            yield case(f"{name} concentrated", budget.concentrated)
        yield case(f"{name} in words", str, budget)
        for rows in (1, 2, 7):
            yield case(f"{name} per row of {rows}", budget.per_row, rows)
            yield case(f"{name} share of {rows}", budget.divided, rows)
        for first in (PureDP, ApproxDP, ZCDP):
            yield case(f"{name} filter after {first.kind}", _filter, budget, first)
        for other, cost in BUDGETS.items():
            yield case(f"{name} after {other}", _account, budget, cost)
            parts = [budget, cost]
            yield case(f"{name} beside {other}", composition.total, parts)
            yield case(f"{name} beside {other} at delta", composition.total, parts, delta=1e-5)


def _filter(budget: Guarantee, first: type[Guarantee]) -> Any:
    kept = Filter(budget, first)
    return kept.summed, kept.ordered, kept._order if kept.ordered else None


def _account(budget: Guarantee, cost: Guarantee) -> Any:
    """What is left and what is spent, after charges on the whole and on parts."""
    spending = Spending(budget)
    objection = spending.objection(cost)
    if objection:
        return objection
    small = cost.divided(40)
    told = []
    for part in (None, Part("region", "north"), Part("region", "south"), Part("sex", "f")):
        spending.add(small, part)
        left = [spending.remaining(cost, one) for one in (None, part)]
        delta = spending.remaining_delta(cost, part) if isinstance(cost, ApproxDP) else None
        told.append([*left, delta, spending.spent(), plain(spending.guarantee())])
    return told


def _shares() -> Iterator[Case]:
    for name, budget in BUDGETS.items():
        yield case(f"{name} count", budget.split, COUNT_SHARE)
        yield case(f"{name} tenth", budget.split, 0.1)
        yield case(f"{name} rate", lambda budget=budget: budget.noise_rate)
        yield case(f"{name} ranks", budget.split, RANK_SHARE)
        yield case(f"{name} strength", fitted.strength, 1000, budget.without_delta)
        for size in (10, 1000, 10**6):
            yield case(f"{name} cells of {size}", fitted.best_cells, size, budget.without_delta)
            yield case(f"{name} few of {size}", fitted.few, size, budget.without_delta)
        for asked, q in Q.items():
            named = f"{name} {asked}"
            cut = adaptive_tree.AdaptiveTree(q=q, budget=budget)
            for points in (2**12, 2**12 + 1):
                yield case(f"{named} stages of {points}", cut.stages, points)
            fit = partial(fitted.Fitted, q=q, budget=budget)
            for points, lumpy, size in product((2**12, 2**12 + 1), (True, False), (9, 5000)):
                taken = partial(_taken, fit, points, lumpy, size)
                yield case(f"{named} fits {points} {lumpy} {size}", taken)
            for mechanism in MECHANISMS:
                built = partial(registry.build, mechanism, budget, q=q)
                yield case(f"{named} {mechanism}", _promise, built)
                yield case(f"{named} {mechanism} of 900", _promise, partial(built, size=900))
            for size in (40, 3000):
                yield case(f"{named} brackets of {size}", _brackets, budget, q, size)
    approximate = [one for one in BUDGETS.values() if isinstance(one, ApproxDP)]
    yield from table(PrivateKeys.bought, approximate, name="keys_share")
    for epsilon, delta in product((1e-6, 0.1, 1.0, 30.0, 600.0), (1e-12, 1e-3, 0.6)):
        yield case(f"keys {epsilon} {delta}", _keys, epsilon, delta)


def _taken(fit: Callable[[], fitted.Fitted], points: int, lumpy: bool, size: int) -> Any:
    found = fit()
    taken = found.chosen(StepGrid(points), lumpy=lumpy, size=size)
    return found.stages(points), taken, found.part_length(points, size)


def _keys(epsilon: float, delta: float) -> Any:
    keys = PrivateKeys(
        budget=ApproxDP(epsilon=epsilon, delta=delta, neighbors=Neighbors.ADD_REMOVE)
    )
    return keys.threshold, [keys.log_chance(k) for k in (0, 1, 5)]


def _promise(build: Callable[[], Any]) -> Any:
    found = build()
    return found, found.guarantee, getattr(found, "each", None)


def _brackets(budget: Guarantee, q: tuple[float, ...], size: int) -> Any:
    told = []
    for asked in (Intervals(), Intervals(level=0.8, of="population")):
        found = Bracketed(mechanism="joint_exp", budget=budget, q=q, intervals=asked)
        placed, inner = found._answering(size, found.inner.budget)
        ends = sorted(placed.lower), sorted(placed.upper)
        told.append((ends, found.rank_rate, found._provenance(size), inner))
    return told


def _windows() -> Iterator[Case]:
    for epsilon, name in product((1e-3, 1.0, 1e13), ("median", "deciles")):
        q = Q[name]
        for points, n in product((1, 7, 2**62), (0, 1, 3000)):
            named = f"window {epsilon} {name} {points} {n}"
            yield case(named, _window, n, points, q=q, epsilon=epsilon)
            for size in (5, 3100):
                sized = {"q": q, "epsilon": epsilon, "neighbors": "add-remove", "size": size}
                yield case(f"{named} of {size}", _window, n, points, **sized)
    relations: dict[str, int | None] = {"swap": None, "add-remove": 10**6}
    for neighbors, public in relations.items():
        stated: dict[str, Any] = {"neighbors": neighbors, "size": public}
        for epsilon, (name, q) in product((0.01, 1.0, 1e4), Q.items()):
            for grid in GRIDS:
                named = f"slices {neighbors} {epsilon} {name} {grid}"
                yield case(named, _slices, grid, q=q, epsilon=epsilon, **stated)
    yield from table(slice_quantiles.diameter, (1, 2, 3, 7, 8, 9, 100))
    yield from table(slice_quantiles.exp_below, (Fraction(0), Fraction(1, 3), Fraction(64)))
    for epsilon, (name, q) in product((0.1, 1.0), Q.items()):
        smooth = csmooth.CSmooth(q=q, budget=ZCDP(rho=epsilon), smoothness=0.3)
        yield case(f"csmooth {epsilon} {name}", smooth._windows, 100, 2**20)
        yield case(f"csmooth {epsilon} {name} of none", smooth._windows, 0, 1)
    yield from table(csmooth.tuned_smoothness, (0.3, 4.0), (1, 500))
    for grid, most in product(GRIDS, (2, 7, 50)):
        found = above_threshold.candidate_steps
        yield case(f"candidates {grid} {most}", found, GRIDS[grid], most)


def _window(n: int, points: int, **options: Any) -> Any:
    mechanism = built(JointExp, **options)
    public = n if mechanism.neighbors == "swap" else None
    return mechanism._geometry(n, mechanism.setting(public, points))


def _slices(grid: str, **options: Any) -> Any:
    return built(slice_quantiles.SliceQuantiles, **options).plan(10**6, GRIDS[grid])


def _trees() -> Iterator[Case]:
    for name, budget in BUDGETS.items():
        yield case(f"{name} cuts", adaptive_tree.cutting_rate, budget)
        yield case(f"{name} node", agg_tree.AggTree(q=(0.5,), budget=budget).rate, 4)
    rates = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(20)]
    yield from table(adaptive_tree.toll, rates)
    yield from table(adaptive_tree.most_loss, rates)
    for count in (1, 2, 9, 100):
        yield case(f"leaves {count}", adaptive_tree.leaves, np.arange(count), 10_000)
    for points in (2, 3, 10, 11, 100, 999, 2**11, 2**11 + 1, 10**6):
        even = dpq.UniformGrid(0, points - 1, 1)
        yield case(
            f"shape {points}", agg_tree.AggTree(q=(0.5,), budget=PureDP(epsilon=1.0)).shape, even
        )
    for name, grid in GRIDS.items():
        yield case(
            f"shape {name}", agg_tree.AggTree(q=(0.5,), budget=PureDP(epsilon=1.0)).shape, grid
        )
    for m in (1, 2, 3, 22, 23, 24, 25, 143, 144, 500):
        parts = recursive_joint_exp.RecursiveJointExp.parts(m)
        yield case(f"tree {m} {parts}", recursive_joint_exp.grow, 0, m + 1, parts)
    yield from table(told_apart.van_der_corput, (np.arange(20),), (1, 3, 6))
    rng = np.random.default_rng(3)
    counts = tree.sums(rng.integers(0, 99, 64), 4, 3)
    noisy = [level + rng.integers(-20, 20, len(level)) for level in counts]
    for reading, total in product(agg_tree.READINGS, (None, 3000)):
        yield case(f"masses {reading} {total}", tree.masses, noisy, 4, total, reading)


def _kernels() -> Iterator[Case]:
    limits = product((0.0, 699.9, 700.0, 700.1), (0.0, -300.0), (1, 15, 16, 17, 3000), (0.2, 45.0))
    for given in limits:
        yield case(f"algebra {given}", algebra.choose, *given)
    for run, length in product((1, 16, 256, 2048), (1, 255, 256, 257, 10**6)):
        yield case(f"depth {length} {run}", scans.scan_depth, length, run)
    for held in (algebra.Logarithms(), algebra.ScaledDoubles(10.0, 40.0)):
        yield case(f"rounding {held}", scans.draw_loss, held, 9, 800, 0.25, 900.0)
        yield case(f"rounding {held} of much", scans.draw_loss, held, 99, 8000, 0.25, 9000.0)
    yield from table(cells.height, (1, 2, 4, 5, 16, 17, 2**40))
    seeded: dict[str, Callable[[random.Random], Any]] = {
        "coin": lambda bits: [draws.coin(bits, k / 37) for k in range(38)],
        "faint": lambda bits: [draws.exp_coin(bits, -k / 7) for k in range(40)],
        "below": lambda bits: [draws.below(bits, k) for k in range(1, 40)],
        "subset": lambda bits: [draws.sorted_with_repeats(bits, k, 5) for k in range(1, 9)],
        "exp": lambda bits: [draws.bernoulli_exp(bits, Fraction(k, 9)) for k in range(40)],
        "laplace": lambda bits: [
            draws.discrete_laplace(bits, Fraction(1, k)) for k in range(1, 40)
        ],
        "laplaces": lambda bits: draws.discrete_laplaces(bits, Fraction(1, 5000), 40),
        "coins": lambda bits: many_draws.coins(bits, np.linspace(0.0, 0.5, 40)),
        "choices": lambda bits: many_draws.choose_first(bits, np.arange(40.0), np.full(40, 20.0)),
        "rows": lambda bits: many_draws.weighted(bits, np.arange(60.0).reshape(6, 10)),
        "bounds": lambda bits: many_draws.below(bits, np.arange(1, 41)),
    }
    for name, draw in seeded.items():
        yield case(f"drawn {name}", draw, random.Random(11))


def _laws() -> Iterator[Case]:
    """Laws on small data, for answers at both ends, on records and beside them."""
    answers = [(0, 0, 0), (6, 6, 6), (1, 1, 2), (0, 3, 6), (2, 2, 5), (1, 4, 4), (5, 1, 2)]
    for name, (kind, budget) in product(MECHANISMS, BUDGETS.items()):
        for size in (None,) if budget.neighbors == "swap" else (4, 5):
            built = partial(registry.build, name, budget, q=(0.25, 0.5, 0.9), size=size)
            for values in answers if hasattr(MECHANISMS[name], "law") else ():
                asked = partial(_chance, built, values)
                yield case(f"law of {name} {kind} {size} at {values}", asked)


def _chance(build: Callable[[], Any], values: tuple[int, ...]) -> Any:
    chance = build().law(SMALL).log_probability(values)
    return chance if np.isfinite(chance) else str(chance)


def _measured() -> Iterator[Case]:
    yield from table(_margin, (1e-6, 0.05), (0.004, 1.0), (1, 9))
    for n, q, chance in product((0, 1, 50, 10**6, 10**12), (0.0, 0.2, 0.5), (1e-7, 0.02)):
        yield case(f"sampling {n} {q} {chance}", tails.sampling_margin, n, q, chance)
    for rate, share, size in product((0.004, 0.3, 3.0), (0.0, 0.3, 1.0), (None, 70)):
        tail = partial(tails.noise_tail, 4.0, rate=rate, left=2, right=3, share=share)
        yield case(f"tail {rate} {share} {size}", tail)
        counts = (10, 14, 9, 12, 8, 15)
        cuts = tuple(range(1, len(counts)))
        ranks = MeasuredRanks(
            requested=Intervals(),
            lower=cuts,
            upper=tuple(cut - 1 for cut in cuts),
            counts=counts,
            rate=rate,
            size=size,
            ends=(None, None),
        )
        subjects: tuple[Literal["data", "population"], ...] = ("data", "population")
        for q, subject in product((0.0, 0.1, 0.5, 0.8, 1.0), subjects):
            wanted = Intervals(level=0.8, of=subject)
            named = f"interval {rate} {share} {size} {q} {subject}"
            yield case(named, ranks.interval, q, 3, wanted)
    for asked, number in product(Q.values(), (5, 40, 1000)):
        noise = bracketed.RankNoise(answers=0.25, ranks=0.17, size=0.4)
        yield case(f"placed {asked} {number}", _placed, asked, number, noise)


def _placed(q: tuple[float, ...], size: int, noise: bracketed.RankNoise) -> Any:
    return [sorted(ends) for ends in bracketed.place(q, size, Intervals(), noise)]


def _margin(chance: float, rate: float, terms: int) -> int:
    return tails.noise_margin(chance, rate=rate, terms=terms)
