"""The exact draws of `draws`, for many data sets at once, one per column.

A coin compares a word of 64 random bits with its probability. It needs more bits only if all 64
bits agree. So nearly all coins of a batch are tossed together, and all of them are exact.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Floats

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WORD_RANGE = 2.0**64
SMALLEST = np.finfo(np.float64).smallest_subnormal
WIDE = 2**62
"""Sums of more choices than this and a number of answers could overflow."""

PRECISION = 40
"""In `weighted`, the bits of the whole part of a column's largest weight; sums fit in 64 bits."""

RAISE = 2.0**400
"""The factor of columns that have faint weights only; a scale for these would overflow."""


def coins(bits: Bits, probability: Floats) -> Bools:
    """True with exactly these probabilities, each at most 1/2."""
    scaled = probability * WORD_RANGE
    drawn, leading = draws.words(bits, len(probability)), scaled.astype(np.uint64)
    heads = drawn < leading
    for index in np.flatnonzero(drawn == leading).tolist():
        heads[index] = draws.coin(bits, float(scaled[index] - float(leading[index])))
    return heads


def choose_first(bits: Bits, first: Floats, second: Floats) -> Bools:
    """True with probability first / (first + second), for masses given as doubles."""
    lighter, heavier = np.minimum(first, second), np.maximum(first, second)
    odds = lighter / np.maximum(heavier, SMALLEST)  # none if both masses are zero
    chosen = coins(bits, odds / (1.0 + odds))
    for index in np.flatnonzero((odds <= draws.FAINTEST) & (lighter > 0)).tolist():
        log_odds = math.log(lighter[index]) - math.log(heavier[index])
        chosen[index] = _faint_coin(bits, log_odds)
    return np.asarray(chosen == (first <= second))


def choose_first_of_logs(bits: Bits, log_first: Floats, log_second: Floats) -> Bools:
    """Like `choose_first`, for logarithms of masses; one of the masses may be zero."""
    log_odds = -np.abs(log_first - log_second)
    odds = np.exp(log_odds)
    chosen = coins(bits, odds / (1.0 + odds))
    for index in np.flatnonzero(odds <= draws.FAINTEST).tolist():
        chosen[index] = _faint_coin(bits, float(log_odds[index]))
    return np.asarray(chosen == (log_first <= log_second))


def _faint_coin(bits: Bits, log_odds: float) -> bool:
    """True with probability e / (1 + e) for e = exp(log_odds), however small."""
    return draws.exp_coin(bits, log_odds - math.log1p(math.exp(log_odds)))


def weighted(bits: Bits, weights: Floats) -> Ints:
    """For every column, draw a row in exact proportion to its weight, or any row if all are zero.

    As in `draws.weighted`, a row has as many places as the whole part of its weight, and one extra
    place, which counts with a probability equal to the fraction that is left. Otherwise the column
    draws again.
    """
    largest = weights.max(axis=0)
    faint = largest < draws.FAINTEST
    if faint.any():
        weights = weights * np.where(faint, RAISE, 1.0)
        largest = weights.max(axis=0)
    exponent = PRECISION - np.frexp(largest)[1]
    levels = [(weights * np.ldexp(1.0, exponent)).astype(np.int64)]
    while len(levels[-1]) > 1:
        pairs = levels[-1]
        sums = pairs[0::2].copy()
        sums[: len(pairs) // 2] += pairs[1::2]
        levels.append(sums)
    total = levels.pop()[0]
    place = below(bits, total + len(weights))
    row = _descended(levels, np.minimum(place, total - 1))
    for column in np.flatnonzero(place >= total).tolist():
        extra = int(place[column] - total[column])
        share = float(weights[extra, column])
        if largest[column] == 0 or draws.fraction_coin(bits, share, int(exponent[column])):
            row[column] = extra
        else:
            row[column] = weighted(bits, weights[:, [column]])[0]
    return row


def _descended(levels: list[Ints], place: Ints) -> Ints:
    """The rows that hold these places, by sums of pairs of rows, of pairs of pairs, and so on."""
    row, columns = np.zeros(len(place), dtype=np.int64), np.arange(len(place))
    for level in reversed(levels):
        first = level[2 * row, columns]
        beyond = place >= first
        place = place - first * beyond
        row = 2 * row + beyond
    return row


def below(bits: Bits, bounds: Ints) -> Ints:
    """Uniform integers in 0 .. bound-1 for every bound: remainders of words, by rejection."""
    integers, left = np.zeros(len(bounds), dtype=np.int64), np.arange(len(bounds))
    while len(left):
        bound, drawn = bounds[left].astype(np.uint64), draws.words(bits, len(left))
        remainder = drawn % bound
        integers[left] = remainder.astype(np.int64)
        # Without the last words, fewer than a bound, all remainders are equally frequent.
        left = left[drawn - remainder > np.negative(bound)]
    return integers


def sorted_with_repeats(bits: Bits, choices: Ints, count: int) -> Ints:
    """In every column, a uniform nondecreasing vector of `count` integers in 0 .. choices-1.

    The method is that of `draws.sorted_with_repeats`.
    """
    if len(choices) and int(choices.max()) > WIDE:
        each = [draws.sorted_with_repeats(bits, wide, count) for wide in choices.tolist()]
        return np.array(each, dtype=np.int64).T
    chosen = np.empty((count, len(choices)), dtype=np.int64)
    for place in range(count):
        top = choices - 1 + place
        candidate = below(bits, top + 1)
        chosen[place] = np.where((chosen[:place] == candidate).any(axis=0), top, candidate)
    return np.sort(chosen, axis=0) - np.arange(count)[:, None]
