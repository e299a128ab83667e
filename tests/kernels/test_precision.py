"""The stated rounding bound against 60-digit arithmetic on a plain double-loop forward pass."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import scans
from dpquantiles.kernels.algebra import Logarithms, ScaledDoubles
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.privacy import PureDP

ZERO = Decimal(0)


def slow_totals(law: JointExpLaw, n: int) -> list[list[Decimal]]:
    """F of every step by (6) to (8), as double loops over 60-digit numbers."""
    geometry, length = law.geometry, law.geometry.length
    s = (-Decimal(law.setting.rate)).exp()
    targets = geometry.targets.tolist()
    total = [[ZERO] * length]
    total[0][-geometry.start] = Decimal(1)
    upper, entering = [[ZERO] * length], [[ZERO] * length]
    for k, target in enumerate(targets, start=1):
        before, advance = total[-1], length if k == 1 else target - targets[k - 2]
        records = law.strip.row(k - 1, length)
        rows: dict[str, list[Decimal]] = {"total": [], "upper": [], "entering": []}
        for e in range(length):
            rank = target + geometry.start + e
            down = sum((before[x] * s ** (x - e) for x in range(e, min(length, e + advance))), ZERO)
            if e + advance < length:
                down += s**advance * upper[-1][e + advance]
            up = sum((before[x] * s ** (e - x) for x in range(e + 1)), ZERO)
            less = sum((before[x] * s ** (e - x) for x in range(e)), ZERO)
            rows["entering"].append(down + less)
            points = int(records[e + 1] - records[e]) - 1
            if not 0 <= rank <= n:
                rows["upper"].append(ZERO)
                rows["total"].append(ZERO)
                continue
            if points < 0:
                rows["upper"].append(ZERO)
                rows["total"].append(before[e])
                continue
            gap = ZERO
            history = [*entering, rows["entering"]]
            for j in range(1, k + 1):
                shift = target - targets[k - j]
                if e + shift < length and points:
                    first = history[k - j + 1][e + shift] if j > 1 else rows["entering"][e]
                    gap += math.comb(points + j - 1, j) * s**shift * first
            rows["upper"].append(down if rank > 0 else ZERO)
            rows["total"].append(rows["upper"][-1] + gap + (up if rank < n else ZERO))
        total.append(rows["total"])
        upper.append(rows["upper"])
        entering.append(rows["entering"])
    return total


@pytest.mark.parametrize("representation", ["scaled doubles", "logarithms"])
@pytest.mark.parametrize(
    ("n", "m", "points", "epsilon", "reach"),
    [(60, 4, 2**38, 1.0, None), (60, 4, 50, 0.01, None), (80, 3, 2**20, 5.0, 30)],
)
def test_masses_are_within_the_rounding_bound(
    representation: str,
    n: int,
    m: int,
    points: int,
    epsilon: float,
    reach: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if representation == "logarithms":
        monkeypatch.setattr(algebras, "choose", lambda *_: Logarithms())
    steps = np.sort(np.random.default_rng(n).integers(0, points, n))
    steps[n // 2 : n // 2 + 5] = steps[n // 2]
    view = dpq.ArrayView(steps, dpq.UniformGrid(0, points - 1, 1))
    q = tuple((k + 1) / (m + 1) for k in range(m))
    law = dpq.JointExp(q=q, budget=PureDP(epsilon=epsilon), reach=reach).law(view)
    algebra = law.setting.algebra
    assert isinstance(algebra, ScaledDoubles) == (representation == "scaled doubles")
    bound = scans.mass_error(
        algebra, m, law.geometry.length, law.setting.rate, law.setting.log_range
    )
    with localcontext(prec=60):
        exact = slow_totals(law, n)
        errors = [
            abs(algebra.log(float(mass)) - float(truth.ln()))
            for row, truths in zip(law.masses.total, exact, strict=True)
            for mass, truth in zip(row, truths, strict=True)
            if truth > 0 and float(truth.ln()) > law.setting.log_floor - 88
        ]
    assert len(errors) > m * n / 2
    assert max(errors) < bound < 1e-6
