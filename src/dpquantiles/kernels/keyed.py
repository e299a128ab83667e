"""Discrete Laplace noise for keys: each key has its own, however often and in what order one asks.

So noise can be looked at before the counts that it is meant for. In a private run it is drawn from
fresh bits when a key is first asked for, and kept. In a seeded run it follows from the seed and the
key, because an array and an engine, which shall give the same answers, ask for other keys.
"""

from collections.abc import Callable
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dpquantiles.entropy import Bits, is_private
from dpquantiles.kernels import draws

Ints = NDArray[np.int64]

SEED_BITS = 256
WORDS = 8
"""The words of 64 bits in one digest."""


class KeyedLaplaces:
    """Noise with P[z] proportional to exp(-rate |z|) for keys, which are whole numbers of a kind.

    The noises of different keys and kinds are independent.
    """

    def __init__(self, bits: Bits, rate: Fraction) -> None:
        self._drawn = _fresh(bits, rate) if is_private(bits) else _seeded(bits, rate)
        self._kept: dict[int, tuple[Ints, Ints]] = {}
        """For each kind, all keys so far, in ascending order, and their noise."""

    def __call__(self, kind: int, keys: Ints) -> Ints:
        """The noise of some different keys of one kind."""
        kept, noise = self._kept.get(kind, (keys[:0], keys[:0]))
        new = keys[~np.isin(keys, kept, assume_unique=True)]
        if len(new):
            kept, noise = np.append(kept, new), np.append(noise, self._drawn(kind, new))
            order = np.argsort(kept)
            kept, noise = self._kept[kind] = kept[order], noise[order]
        return noise[np.searchsorted(kept, keys)]


def _fresh(bits: Bits, rate: Fraction) -> Callable[[int, Ints], Ints]:
    return lambda _, keys: draws.discrete_laplaces(bits, rate, len(keys))


def _seeded(bits: Bits, rate: Fraction) -> Callable[[int, Ints], Ints]:
    seed = bits.getrandbits(SEED_BITS).to_bytes(SEED_BITS // 8, "little")

    def drawn(kind: int, keys: Ints) -> Ints:
        words, count = Streams(seed, kind, keys).words, len(keys)
        first = draws.geometrics(words, rate, count)
        return first - draws.geometrics(words, rate, count)

    return drawn


class Streams:
    """A stream of words for each of some keys: digests of the key, under a seed, one by one."""

    def __init__(self, seed: bytes, kind: int, keys: Ints) -> None:
        self._hash = blake2b(kind.to_bytes(8, "little"), key=seed)
        self._names = keys.astype("<i8").tobytes()
        self._taken = np.zeros(len(keys), dtype=np.int64)
        self._digests = np.empty((len(keys), WORDS), dtype=np.uint64)

    def words(self, which: Ints) -> NDArray[np.uint64]:
        """The next word for each of the keys at these different places."""
        place = self._taken[which] % WORDS
        ended = which[place == 0]
        digests = b"".join(map(self._digest, ended.tolist()))
        self._digests[ended] = np.frombuffer(digests, dtype="<u8").reshape(-1, WORDS)
        self._taken[which] += 1
        return np.asarray(self._digests[which, place])

    def _digest(self, index: int) -> bytes:
        """The next digest of the key at this place."""
        number = self._taken.item(index) // WORDS
        hashed = self._hash.copy()
        hashed.update(self._names[8 * index : 8 * index + 8] + number.to_bytes(8, "little"))
        return hashed.digest()
