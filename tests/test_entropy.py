"""Random bits: only the operating system's own generator, untouched, makes a release private."""

import random

import numpy as np
import pytest

from dpquantiles import entropy


class Loaded(random.SystemRandom):
    """A subclass, which may do anything."""

    def getrandbits(self, k: int, /) -> int:
        return 0 * k


class Plain:
    """Anything with the one method that is needed."""

    def getrandbits(self, k: int, /) -> int:
        return 0 * k


def test_none_stands_for_the_system() -> None:
    bits = entropy.require_bits(rng=None)
    assert type(bits) is random.SystemRandom
    assert entropy.is_private(bits)
    assert entropy.is_private(entropy.system())
    assert entropy.is_private(random.SystemRandom())
    assert len({bits.getrandbits(128) for _ in range(4)}) == 4


@pytest.mark.parametrize(
    "rng",
    [random.Random(7), Loaded(), Plain(), random],
    ids=["seeded", "subclass", "other", "module"],
)
def test_all_else_is_taken_but_not_private(rng: object) -> None:
    bits = entropy.require_bits(rng=rng)
    assert bits is rng
    assert not entropy.is_private(bits)


def test_an_attribute_in_its_place_is_not_private() -> None:
    bits = random.SystemRandom()
    bits.getrandbits = lambda k: 0 * k  # type: ignore[method-assign]
    assert not entropy.is_private(bits)


@pytest.mark.parametrize(
    "rng",
    [
        *(7, "seed", b"seed", True, random.Random, random.SystemRandom, object()),
        *(np.random.default_rng(7), np.random.RandomState(7), np.random.PCG64(7)),
    ],
    ids=lambda rng: type(rng).__name__,
)
def test_what_gives_no_bits_is_refused_with_a_hint(rng: object) -> None:
    message = (
        r"^rng must have a getrandbits method, such as random\.Random\(7\), got .*leave it out"
    )
    with pytest.raises(TypeError, match=message):
        entropy.require_bits(rng=rng)


def test_the_note_says_why() -> None:
    assert entropy.SEEDED_NOTE.startswith("no privacy guarantee: ")
    assert "seed" in entropy.SEEDED_NOTE
