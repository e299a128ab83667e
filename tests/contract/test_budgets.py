"""What every release really spends: all draws of it, priced one by one and added up exactly."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.kinds import INTEGER
from dpquantiles.kinds.domain import of_kind
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.mechanisms.bracketed import Bracketed
from dpquantiles.mechanisms.count import PrivateCount
from dpquantiles.privacy import ZCDP, Guarantee
from tests.contract.test_mechanisms import BUDGETS
from tests.mechanisms.recorded_draws import Draw, recording, spent

GRID = dpq.UniformGrid(0, 2**30, 1)
NUMBER = 4000
FEW, MANY = (0.25, 0.75), tuple((k + 0.5) / 42 for k in range(42))

LEAST = Fraction(9, 10)
"""Less than this share of a budget is waste that somebody should know of."""

ROUNDING = Fraction(1, 10**9)
"""Of prices that hold for real numbers, and are added up in floating point."""


class Case(NamedTuple):
    """A mechanism, its budget, whether a size is stated, and whether intervals are asked for."""

    name: str
    budget: Guarantee
    stated: bool
    intervals: bool

    def __str__(self) -> str:
        told = ("size" * self.stated, "intervals" * self.intervals)
        return "-".join(
            filter(None, (self.name, self.budget.kind, str(self.budget.neighbors), *told))
        )

    @property
    def quantiles(self) -> tuple[tuple[float, ...], ...]:
        """Intervals ask for more, and slices refuse many."""
        return (FEW,) if self.intervals or self.name == "slice_quantiles" else (FEW, MANY)

    def build(self, q: tuple[float, ...], size: int = NUMBER) -> Any:
        stated = size if self.stated else None
        if not self.intervals:
            return registry.build(self.name, self.budget, q=q, size=stated)
        asked = dpq.Intervals()
        return Bracketed(
            mechanism=self.name,
            budget=self.budget,
            q=q,
            intervals=asked,
            size=stated,
            domain=of_kind(INTEGER),
        )


def cases() -> Iterator[Case]:
    for name, mechanism in MECHANISMS.items():
        profile = mechanism.profile
        for kind, neighbors in itertools.product(profile.kinds, profile.neighbors):
            budget = privacy.budget(**BUDGETS[kind], neighbors=neighbors)
            sizes = [False, True] if neighbors == "add-remove" and profile.uses_size else [False]
            for stated, intervals in itertools.product(sizes, (False, True)):
                yield Case(name, budget, stated, intervals)


def refused(case: Case) -> bool:
    """Slices need a stated size, and quantiles further apart than intervals have them."""
    unsized = case.budget.neighbors == "add-remove" and not case.stated
    return case.name == "slice_quantiles" and (case.intervals or unsized)


CASES = [case for case in cases() if not refused(case)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def view_of(kind: str, number: int = NUMBER) -> dpq.ArrayView:
    chance = np.random.default_rng(5)
    records = chance.normal(2**29, 2**24, number)
    if kind == "tied":
        records = np.round(records / 2**22) * 2**22
    gone = chance.random(number) < (0.3 if kind == "missing" else 0.0)
    return dpq.ArrayView(np.ma.masked_array(records.astype(np.int64), gone), GRID)


def drawn(case: Case, q: tuple[float, ...], view: dpq.ArrayView, size: int = NUMBER) -> list[Draw]:
    """What one release draws."""
    mechanism = case.build(q, size)
    with recording(view, case.budget.neighbors) as recorder:
        mechanism.release(view, recorder.bits(7))
    return recorder.draws


def share(promised: Guarantee, budget: Guarantee) -> Fraction:
    """How much of a budget a promise is."""
    if isinstance(budget, ZCDP):
        return Fraction(promised.concentrated().rho) / Fraction(budget.rho)  # type: ignore[union-attr]
    assert not isinstance(promised, ZCDP)
    return Fraction(promised.epsilon) / Fraction(budget.epsilon)


def check_spending(case: Case) -> None:
    """No more than is promised, no promise above the budget, and little of it left."""
    # Under add-remove neighbors a missing record is none.
    kinds = ("smooth", "tied", "missing") if case.budget.neighbors == "swap" else ("smooth", "tied")
    for kind, q in itertools.product(kinds, case.quantiles):
        promised = case.build(q).guarantee
        whole = Fraction(promised.amount)
        used = spent(drawn(case, q, view_of(kind)), promised) / whole
        assert used <= (1 + ROUNDING if promised.research_only else 1)
        assert share(promised, case.budget) <= 1
        assert used * share(promised, case.budget) >= LEAST


@each_case
def test_all_draws_of_a_release_cost_what_it_states(case: Case) -> None:
    check_spending(case)


def check_public_numbers(case: Case, patch: pytest.MonkeyPatch) -> None:
    """Told the same noisy counts, data of any size use the same public numbers."""
    for lumps, q in itertools.product((10, 3000), case.quantiles):
        seen = []
        for number in (4000, 700):
            patch.setattr(
                PrivateCount, "draw", lambda _, n, __, m=number, z=lumps: 3000 if n == m else z
            )
            seen.append(
                [
                    (part.what, part.public)
                    for part in drawn(case, q, view_of("smooth", number), 3000)
                    if part.what in ("joint", "cuts", "question", "slices")
                ]
            )
        assert seen[0] == seen[1]


PROTECTED = [
    case
    for case in CASES
    if case.budget.neighbors == "add-remove" and MECHANISMS[case.name].profile.uses_size
]


@pytest.mark.parametrize("case", PROTECTED, ids=str)
def test_a_protected_number_of_records_decides_nothing(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_public_numbers(case, monkeypatch)


@pytest.mark.parametrize("case", [case for case in cases() if refused(case)], ids=str)
def test_what_is_left_out_here_is_refused(case: Case) -> None:
    with pytest.raises(ValueError, match="must be"):
        drawn(case, FEW, view_of("smooth"))


def test_noise_that_nothing_accounts_for_is_noticed() -> None:
    class Unknown:
        def release(self, view: dpq.ArrayView, bits: Any) -> int:
            return view.n + int(bits.getrandbits(3))

    view = view_of("smooth")
    with recording(view, "swap") as recorder, pytest.raises(AssertionError, match="accounts for"):
        Unknown().release(view, recorder.bits(1))
