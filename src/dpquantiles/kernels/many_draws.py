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


def words(bits: Bits, count: int) -> NDArray[np.uint64]:
    """`count` words of 64 random bits."""
    return np.frombuffer(bits.getrandbits(64 * count).to_bytes(8 * count, "little"), dtype="<u8")


def coins(bits: Bits, probability: Floats) -> Bools:
    """True with exactly these probabilities, each at most 1/2."""
    scaled = probability * WORD_RANGE
    drawn, leading = words(bits, len(probability)), scaled.astype(np.uint64)
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
    """For every column, draw a row in proportion to its weight, by descending a tree of sums."""
    height = 1 << (len(weights) - 1).bit_length()
    level = np.zeros((height, weights.shape[1]))
    level[: len(weights)] = weights
    levels = [level]
    while len(level) > 1:
        level = level[0::2] + level[1::2]
        levels.append(level)
    index = np.zeros(weights.shape[1], dtype=np.int64)
    columns = np.arange(weights.shape[1])
    for level in reversed(levels[:-1]):
        left, right = level[2 * index, columns], level[2 * index + 1, columns]
        index = 2 * index + ~choose_first(bits, left, right)
    return index


def below(bits: Bits, bounds: Ints) -> Ints:
    """Uniform integers in 0 .. bound-1 for every bound, by rejection."""
    # The bits of bound - 1, or one more where the double nearest to it is a power of two.
    length = np.minimum(np.frexp((bounds - 1).astype(np.float64))[1], 63)
    spare = (64 - length).astype(np.uint64)
    integers = np.zeros(len(bounds), dtype=np.int64)
    left = np.arange(len(bounds))
    while len(left):
        # A shift by 64 bits is undefined in C, so it is done in two shifts.
        drawn = words(bits, len(left)) >> np.uint64(1) >> (spare[left] - np.uint64(1))
        integers[left] = drawn.astype(np.int64)
        left = left[integers[left] >= bounds[left]]
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
