"""Brackets: where more answers are asked for, from public numbers alone."""

import pytest

from dpquantiles import Intervals
from dpquantiles.mechanisms.bracketed import RankNoise, place

NOISE = RankNoise(answers=0.25, ranks=0.2)


def ranks(q: set[float] | frozenset[float] | tuple[float, ...], size: int) -> list[int]:
    return sorted(round(quantile * size) for quantile in q)


def test_one_quantile_has_an_answer_on_either_side() -> None:
    brackets = place((0.5,), 1000, Intervals(), NOISE)
    (low,), (high,) = ranks(brackets.lower, 1000), ranks(brackets.upper, 1000)
    assert ranks(brackets.q, 1000) == [low, 500, high]
    assert 500 - low == high - 500
    assert 20 <= 500 - low <= 60


def test_a_higher_level_and_the_population_reach_further() -> None:
    reach = [
        500 - ranks(place((0.5,), 1000, asked, NOISE).lower, 1000)[0]
        for asked in (Intervals(0.5), Intervals(0.95), Intervals(0.999), Intervals(of="population"))
    ]
    assert reach == sorted(set(reach))


def test_shifted_ranks_do_not_depend_on_the_size() -> None:
    small, large = (place((0.5,), size, Intervals(), NOISE) for size in (1000, 10**6))
    assert 500 - ranks(small.lower, 1000)[0] == 500_000 - ranks(large.lower, 10**6)[0]


@pytest.mark.parametrize("size", [0, 1, 20])
def test_what_lies_beyond_the_records_is_not_asked_for(size: int) -> None:
    brackets = place((0.0, 0.5, 1.0), size, Intervals(), NOISE)
    assert brackets == ((0.0, 0.5, 1.0), frozenset(), frozenset())


def test_extreme_quantiles_are_bracketed_on_the_inside() -> None:
    brackets = place((0.0, 1.0), 1000, Intervals(), NOISE)
    assert len(brackets.q) == 4
    assert max(brackets.lower) < 1.0
    assert min(brackets.upper) > 0.0
    assert len(brackets.lower) == len(brackets.upper) == 1


def test_close_quantiles_serve_each_other() -> None:
    q = tuple(k / 100 for k in range(1, 100))
    brackets = place(q, 1000, Intervals(), NOISE)
    assert len(brackets.q) <= len(q) + 4
    assert set(q) & brackets.lower
    apart = place(q, 10**6, Intervals(), NOISE)
    assert len(apart.q) == 3 * len(q)


def test_distinct_quantiles_of_one_rank_are_all_kept() -> None:
    brackets = place((0.5, 0.50001), 1000, Intervals(), NOISE)
    assert {0.5, 0.50001} <= set(brackets.q)
    assert len(brackets.q) == 4
