"""Random bits: from the operating system (private) or from a seed (reproducible, never private)."""

import random
from typing import Protocol

from dpquantiles.errors import InvalidType
from dpquantiles.require import shown

SEEDED_NOTE = (
    "no privacy guarantee: the random bits came from a reproducible generator, "
    "so anyone who knows its seed can remove the noise"
)


class Bits(Protocol):
    """The only source of randomness in the library: `getrandbits(k)`, k uniform bits as an int."""

    def getrandbits(self, k: int, /) -> int: ...


def system() -> Bits:
    """The operating system's cryptographic generator."""
    return random.SystemRandom()


def require_bits(*, rng: object) -> Bits:
    """`rng` as a source of bits; None means the operating system's."""
    if rng is None:
        return system()
    if isinstance(rng, type) or not callable(getattr(rng, "getrandbits", None)):
        raise InvalidType(
            f"rng must have a getrandbits method, such as random.Random(7), got {shown(rng)}; "
            "leave it out for a private release"
        )
    return rng  # type: ignore[return-value]


def is_private(bits: Bits) -> bool:
    """Whether a release drawn from these bits may carry a guarantee.

    The check is exact, because a subclass or an attribute could return predictable bits.
    """
    return type(bits) is random.SystemRandom and "getrandbits" not in vars(bits)
