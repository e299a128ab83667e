"""Public parameters at random: most of them right, some of them wrong, from tiny to huge."""

import math
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

import dpquantiles as dpq
from dpquantiles.mechanisms import MECHANISMS
from experiments.fuzz.columns import ColumnType

Options = dict[str, Any]
WRONG = 0.02
"""How often a single parameter is wrong on purpose."""

WRONG_NUMBERS = (0, -1.0, math.nan, math.inf, "1", True, None, 10**400, Decimal(1), 1j)
ODD_NUMBERS = (1, np.float32(0.5), Fraction(1, 3), np.int64(2), 1e300, 5e-324)
SHORT_FORMS = ("median", "quartiles", "deciles", "percentiles")


def quantiles(rng: Random) -> Any:
    """What to ask for: names, single numbers, lists in any order, now and then nonsense."""
    if rng.random() < WRONG:
        return rng.choice(([], [1.5], [math.nan], "decile", None, [0.5, "0.7"], {}, -0.1))
    many = rng.choice((1, 1, 2, 3, 3, 5, 9, 20))
    lists = [[round(rng.random(), rng.choice((1, 2, 17))) for _ in range(many)], [0, 0.5, 1]]
    arrays = [np.linspace(0.1, 0.9, many), (0.75, 0.25), [0.5, 0.5 + 1e-16, 0.5]]
    if rng.random() < 0.02:
        return "percentiles"
    return rng.choice((*lists, lists[0], lists[0], *arrays, *SHORT_FORMS[:3], 0.5, 1))


def _amount(rng: Random) -> Any:
    if rng.random() < WRONG:
        return rng.choice(WRONG_NUMBERS)
    if rng.random() < 0.1:
        return rng.choice(ODD_NUMBERS)
    wide = 10 ** rng.uniform(-12, 6)
    return rng.choice((1.0, 0.1, wide, 10 ** rng.uniform(-2, 1.5), 10 ** rng.uniform(-2, 1.5)))


def budget(rng: Random, private_keys: bool = False) -> Options:
    """An epsilon, an epsilon and a delta, or a rho; seldom none or too many of them."""
    if rng.random() < WRONG:
        return rng.choice(({}, {"delta": 1e-6}, {"epsilon": 1.0, "rho": 1.0}, {"rho": 0}))
    delta: Any = rng.choice((10 ** rng.uniform(-30, -3), 1e-6, 0.5, 1e-300))
    delta = rng.choice((0.0, 1.0, -1, "1e-6")) if rng.random() < WRONG else delta
    if private_keys or rng.random() < 0.2:
        return {"epsilon": _amount(rng), "delta": delta}
    return {"rho": _amount(rng)} if rng.random() < 0.25 else {"epsilon": _amount(rng)}


def kind_of(spent: Options) -> str:
    """What a budget is called in the profiles of mechanisms."""
    if "rho" in spent:
        return "concentrated"
    return "approximate" if "delta" in spent else "pure"


def mechanism(rng: Random, spent: Options, neighbors: str) -> Options:
    """Nothing, "auto", a mechanism that can meet the budget, or any name."""
    if rng.random() < 0.3:
        return {}
    able = [
        name
        for name, known in MECHANISMS.items()
        if kind_of(spent) in known.profile.kinds and neighbors in known.profile.neighbors
    ]
    names = able if able and rng.random() < 0.93 else ["auto", "joint", *MECHANISMS]
    return {"mechanism": rng.choice(names)}


def bounds(rng: Random, kind: ColumnType) -> Any:
    """Two values of the type: usual, narrow, of the whole type; seldom reversed or of another."""
    low, high = kind.usual
    whole = [end for end in kind.ends if isinstance(end, int) or math.isfinite(end)] or [low]
    ends = rng.choice(((low, high), (low, high), (low, low + 1), (min(whole), max(whole))))
    if kind.family == "bool":
        ends = (0, 1)
    lower, upper = (kind.value(end) for end in ends)
    if rng.random() < 2 * WRONG:
        wrong = [(upper, lower), (lower, lower), ("a", "b"), (None, upper), (math.nan, math.inf)]
        return rng.choice([*wrong, (lower,), 7, (0, 10**30)])
    return lower, upper


def resolution(rng: Random, kind: ColumnType) -> Any:
    """A distance between values of the type; seldom of another, or none."""
    if rng.random() < 5 * WRONG:
        return rng.choice((0, -1, "1", math.nan, 1e-300, Decimal("0.1")))
    low = kind.usual[0]
    step = rng.choice((1, 2, 7))
    if kind.family == "float":
        return rng.choice((0.1, 0.5, 1, 3))
    if kind.family in ("date", "datetime"):
        return kind.value(low + step) - kind.value(low)
    return kind.value(step)


def grid(rng: Random, kind: ColumnType) -> Any:
    """A grid of the type, or None where none can be made of such bounds."""
    lower, upper = (kind.value(end) for end in kind.usual)
    try:
        if kind.family in ("float", "int") and rng.random() < 0.5:
            whole = kind.family == "int"
            low, high = rng.choice(((None, None), (lower, upper), (None, upper)))
            return dpq.FloatGrid(low, high, integral=whole)
        step = resolution(rng, kind) if rng.random() < 0.5 else None
        return dpq.UniformGrid(lower, upper, step)
    except (TypeError, ValueError):
        return None


def missing(rng: Random, kind: ColumnType, neighbors: str) -> Options:
    """A policy for missing values, or nothing."""
    if rng.random() < 0.6:
        return {}
    if rng.random() < WRONG:
        return {"missing": rng.choice(("middle", math.nan, 1j, b"", []))}
    stated = ["lower", "upper", kind.value(kind.tick(rng))]
    return {"missing": rng.choice(stated if neighbors == "swap" else [*stated, "drop"])}


def size(rng: Random, n: int, keys: Any = None) -> Options:
    """Under add-remove neighbors a public number of records, or nothing."""
    if rng.random() < 0.5:
        return {}
    if rng.random() < WRONG:
        return {"size": rng.choice((-1, 1.5, "7", 2**60, math.nan, True))}
    near = rng.choice((n, n, n + 3, 0, 1, 1000, 10**6, 2**53))
    if isinstance(keys, list) and rng.random() < 0.5:
        return {"size": {key: rng.choice((n, 10, 0)) for key in keys}}
    return {"size": near}


def intervals(rng: Random) -> Options:
    """Intervals, seldom; now and then at a level that there is not."""
    if rng.random() < 0.8:
        return {}
    wrong = (1.0, 0, -1, "all", math.nan)
    right = (True, 0.9, 0.5, "population", dpq.Intervals(0.99, of="population"))
    return {"intervals": rng.choice(wrong if rng.random() < WRONG else right)}


def values(rng: Random, kind: ColumnType) -> Options:
    """Bounds and resolution, or a grid, or nothing."""
    chance = rng.random()
    if chance < 0.35:
        return {}
    if chance < 0.5:
        found = grid(rng, kind)
        return {} if found is None else {"grid": found}
    stated = {"bounds": bounds(rng, kind)}
    return {**stated, "resolution": resolution(rng, kind)} if rng.random() < 0.25 else stated
