"""Noise of keys: its law, and that a key keeps its noise, whenever one asks for it."""

import hashlib
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpquantiles import entropy
from dpquantiles.kernels import draws
from dpquantiles.kernels.keyed import KeyedLaplaces, Streams
from tests.kernels.test_tree import RATES, fit

SEED = bytes(range(32))
KEYS = np.array([0, 5, 2**63 - 1, 1, 77])
SOURCES: dict[str, Callable[[], entropy.Bits]] = {
    "private": entropy.system,
    "seeded": lambda: random.Random(7),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rate", RATES)
def test_keyed_noise_has_its_law(rate: Fraction, source: str) -> None:
    """Also where keys are asked for in parts. Private bits differ every time."""
    noise, every = KeyedLaplaces(SOURCES[source](), rate), np.arange(60_000)
    drawn = np.concatenate([noise(kind, every[:20_000]) for kind in range(3)])
    noise(9, every[::2])
    later = noise(9, every)
    for found in (drawn, later):
        assert fit(found, float(rate)) > 1e-5
        assert fit(found, 0.9 * rate) < 1e-6
        assert fit(found, 1.1 * rate) < 1e-6


@pytest.mark.parametrize("source", SOURCES)
def test_a_key_keeps_its_noise(source: str) -> None:
    noise, rng = KeyedLaplaces(SOURCES[source](), Fraction(1, 50)), np.random.default_rng(1)
    known: dict[tuple[int, int], int] = {}
    for _ in range(200):
        kind, keys = rng.integers(3).item(), rng.permutation(60)[: rng.integers(40)]
        for key, z in zip(keys.tolist(), noise(kind, keys).tolist(), strict=True):
            assert known.setdefault((kind, key), z) == z
    assert len(known) == 180
    assert len(set(known.values())) > 60


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1, 5000)])
@pytest.mark.parametrize("word", [6, 64])
def test_seeded_noise_does_not_depend_on_other_keys(
    rate: Fraction, word: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on their order. Short words and digits need many more words."""
    monkeypatch.setattr(draws, "WORD", word)
    monkeypatch.setattr(draws, "DIGIT", 4)
    keys = np.arange(0, 7000, 7)

    def drawn(keys: np.ndarray, kind: int = 3, seed: int = 1) -> list[int]:
        found: list[int] = KeyedLaplaces(random.Random(seed), rate)(kind, keys).tolist()
        return found

    whole = drawn(keys)
    assert drawn(keys[::-1]) == whole[::-1]
    assert drawn(keys[5:80:3]) == whole[5:80:3]
    assert [drawn(keys[k : k + 1]) for k in range(9)] == [[z] for z in whole[:9]]
    assert whole not in (drawn(keys, kind=4), drawn(keys, seed=2), drawn(keys + 1))


def test_private_noise_is_not_seeded_by_anything() -> None:
    """Every word is from the operating system: nothing is stretched, and nothing repeats."""

    def drawn(keys: np.ndarray) -> list[int]:
        found: list[int] = KeyedLaplaces(entropy.system(), Fraction(1, 10**6))(0, keys).tolist()
        return found

    assert len({tuple(drawn(np.arange(5))) for _ in range(50)}) == 50
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Streams, "words", None)
        patch.setattr(random.SystemRandom, "getrandbits", None)
        assert len(drawn(np.arange(5))) == 5


def test_no_keys_have_no_noise() -> None:
    none = np.empty(0, dtype=np.int64)
    for source in SOURCES.values():
        assert not len(KeyedLaplaces(source(), Fraction(1))(0, none))


def words(kind: int, key: int, count: int) -> list[int]:
    """The first words of one key, from the hash as its standard has it."""
    found = b""
    for number in range(count // 8 + 1):
        text = b"".join(part.to_bytes(8, "little") for part in (kind, key, number))
        found += hashlib.blake2b(text, key=SEED, digest_size=64).digest()
    return [int.from_bytes(found[8 * k : 8 * k + 8], "little") for k in range(count)]


@pytest.mark.parametrize("order", range(10))
def test_words_do_not_depend_on_what_is_read_when(order: int) -> None:
    rng, streams = np.random.default_rng(order), Streams(SEED, 3, KEYS)
    read: list[list[int]] = [[] for _ in KEYS]
    for _ in range(60):
        which = rng.permutation(len(KEYS))[: rng.integers(0, len(KEYS) + 1)]
        for place, word in zip(which.tolist(), streams.words(which).tolist(), strict=True):
            read[place].append(word)
    assert min(map(len, read)) > 16
    for key, found in zip(KEYS.tolist(), read, strict=True):
        assert found == words(3, key, len(found))


def test_bits_of_words_are_even_and_independent() -> None:
    """Each of 64 bits, and pairs of neighboring words, keys and kinds."""
    streams = [Streams(SEED, kind, np.arange(20_000)) for kind in (0, 1)]
    every = np.arange(20_000)
    first, second, other = (s.words(every) for s in (streams[0], *streams))
    bits = [np.unpackbits(row.view(np.uint8)).reshape(-1, 64) for row in (first, second, other)]
    assert np.abs(bits[0].mean(axis=0) - 0.5).max() < 5 * 0.5 / 20_000**0.5
    for one, two in ((bits[0], bits[1]), (bits[0], bits[2]), (bits[0][1:], bits[0][:-1])):
        table = np.bincount((2 * one + two).ravel(), minlength=4)
        assert stats.chisquare(table).pvalue > 1e-3
