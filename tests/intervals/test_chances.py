"""What each step of an interval may miss, recorded and added up: no more than the level leaves."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpquantiles import Intervals
from dpquantiles.intervals import SUBJECTS, MeasuredRanks, tails
from dpquantiles.intervals.tails import Floats
from tests.intervals.test_ranks import measured
from tests.mechanisms.mutation import mutate

Patch = pytest.MonkeyPatch
COUNTS = (400, 300, 200, 100)
OFF = 1000
"""What the number of records is told to be off by: more than any noise."""

LEVELS = (0.5, 0.9, 0.95)


def recorded(
    asked: Intervals, *, public: bool, missing: int | None = None, too_few: int = OFF
) -> tuple[list[float], list[int]]:
    """The chances that the lower end of a median takes, and the numbers of records it is for."""
    chances, numbers = list[float](), list[int]()
    margin = tails.sampling_margin

    def sampling(n: int, q: float, chance: float) -> float:
        numbers.append(n)
        chances.append(chance)
        return margin(n, q, chance)

    def off(chance: float, *, rate: float, terms: int) -> int:
        assert (rate, terms) == (0.5, 1 if public else len(COUNTS))
        chances.append(chance)
        return too_few

    def refuted(_: MeasuredRanks, beyond: Floats, estimates: Any, chance: float) -> Any:
        assert len(beyond) == len(estimates.share) == len(COUNTS) - 1
        chances.append(chance)
        return np.zeros(len(beyond), dtype=bool)

    ranks = measured(COUNTS, 0.5, public=sum(COUNTS) if public else None)
    ranks = replace(ranks, missing=missing)
    with Patch.context() as patch:
        patch.setattr(tails, "sampling_margin", sampling)
        patch.setattr(tails, "noise_margin", off)
        patch.setattr(MeasuredRanks, "_refuted", refuted)
        ranks._lies(-1, 0.5, asked)
    return chances, numbers


def check_chances(*, public: bool, missing: int | None = None) -> None:
    """All that one end may miss by is half of what the level leaves, and nearly all of that."""
    known = public and missing is None
    for level in LEVELS:
        for of, steps in zip(SUBJECTS, (1, 2 if known else 3), strict=True):
            chances, _ = recorded(Intervals(level, of=of), public=public, missing=missing)
            assert len(chances) == steps
            left = (1 - Fraction(level)) / 2
            assert left * Fraction("0.999999") < sum(map(Fraction, chances)) <= left * (1 + EXACT)


EXACT = Fraction(1, 2**50)


def check_numbers() -> None:
    """Sampling is for the most records that there may be."""
    for level in LEVELS:
        asked = Intervals(level, of="population")
        assert recorded(asked, public=True)[1] == [sum(COUNTS)]
        assert recorded(asked, public=False)[1] == [sum(COUNTS) + OFF]
        assert recorded(asked, public=True, missing=300)[1] == [sum(COUNTS)]
        assert recorded(asked, public=True, missing=300, too_few=20)[1] == [sum(COUNTS) - 280]


def check_steps() -> None:
    """Fewer records than the most never have a larger margin than is taken."""
    for q, chance in ((0.5, 0.02), (0.1, 0.001), (0.93, 0.2)):
        ranks = measured((0, 0), 40.0, public=None)
        for most in range(1, 120):
            with Patch.context() as patch:
                patch.setattr(tails, "noise_margin", lambda *_, most=most, **__: most)
                taken = ranks._sampling(q, chance)
            fewer = (tails.sampling_margin(n, q, 0.45 * chance) for n in range(most + 1))
            assert taken >= max(fewer)


@pytest.mark.parametrize(("public", "missing"), [(True, None), (False, None), (True, 30)])
def test_chances_of_one_end_add_up_to_half_of_what_the_level_leaves(
    public: bool, missing: int | None
) -> None:
    check_chances(public=public, missing=missing)


def test_sampling_is_for_as_many_records_as_there_may_be() -> None:
    check_numbers()


def test_margins_of_fewer_records_are_no_larger() -> None:
    check_steps()


def of_protected_sizes() -> None:
    check_chances(public=False)


def of_public_sizes() -> None:
    check_chances(public=True)


@pytest.mark.parametrize(
    ("function", "old", "new", "check"),
    [
        (MeasuredRanks._lies, "(1 - wanted.level) / 2", "1 - wanted.level", of_public_sizes),
        (MeasuredRanks._lies, "chance *= 1 - SAMPLING_SHARE", "pass", of_public_sizes),
        (
            MeasuredRanks._sampling,
            "self.size, q, SAMPLING_SHARE *",
            "self.size, q,",
            of_public_sizes,
        ),
        (
            MeasuredRanks._sampling,
            "SAMPLING_SHARE - SIZE_SHARE",
            "SAMPLING_SHARE",
            of_protected_sizes,
        ),
        (MeasuredRanks._sampling, "SIZE_SHARE * chance, rate", "chance, rate", of_protected_sizes),
        (MeasuredRanks._sampling, "counted + off", "counted", check_numbers),
        (MeasuredRanks._sampling, "min(most, self.size)", "most", check_numbers),
        (MeasuredRanks._sampling, "- (self.missing or 0), 1", ", 1", check_numbers),
        (MeasuredRanks._sampling, "* chance) + 1", "* chance)", check_steps),
    ],
)
def test_mutants_are_caught(
    function: Any, old: str, new: str, check: Any, monkeypatch: Patch
) -> None:
    check()
    mutate(monkeypatch, function, old, new)
    with pytest.raises(AssertionError):
        check()
