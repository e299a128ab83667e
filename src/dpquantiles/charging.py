"""Charge first, draw then: how a release is entered in a ledger before data are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpquantiles import entropy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.failures import unquoted
from dpquantiles.privacy import Guarantee, Units
from dpquantiles.request import Request, plain

if TYPE_CHECKING:
    from dpquantiles.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Account:
    """Where a release is charged: a data set of a ledger, or one of its disjoint parts."""

    ledger: "Ledger"
    dataset: str
    part: str | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        from dpquantiles.ledger import Ledger

        if not isinstance(self.ledger, Ledger):
            raise InvalidType(
                "ledger must be a Ledger, such as Ledger('budget.db'), got "
                f"{require.shown(self.ledger)}"
            )


def fingerprint(*named: object) -> str | None:
    """Which files, database or query were named, so that a request is not repeated for others.

    A hash, because addresses may hold passwords; None where data are not named but given.
    """
    texts = [str(name) for name in named if isinstance(name, (str, Path))]
    if not texts:
        return None
    from dpquantiles.ledger.entries import canonical, digest

    return digest(canonical(texts))


class Recorded(Protocol):
    """What a ledger can keep."""

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary."""


Made = TypeVar("Made", bound=Recorded)


def charged(
    account: Account | None,
    request: Request,
    bits: Bits,
    draw: Callable[[Request], Made],
    *,
    promise: Guarantee,
    rehearse: Callable[[Request], None],
    restore: Callable[[Mapping[str, Any]], Made],
    units: Units,
    about: Mapping[str, object],
) -> Made:
    """What `draw` makes once the request was charged; what was made before is returned as it was.

    The ledger counts the digits of the budget, so the request is run with the doubles just below.
    It enters for which neighbors, and how exactly, the release will promise that. `rehearse` raises
    where public numbers forbid the draw, and `about` is what else must be the same when the request
    is repeated.
    """
    if account is None:
        return unquoted(lambda: draw(request))
    if not entropy.is_private(bits):
        raise InvalidValue(
            "rng must be left out when a ledger is charged: a seeded release has no guarantee"
        )
    granted = replace(request, budget=request.budget.spendable)
    rehearse(granted)
    asked = {**request.describe(), **about, "rows": units.rows}
    made: Made = account.ledger.release(
        replace(request.budget, within=promise.within, research_only=promise.research_only),
        lambda: unquoted(lambda: draw(granted)),
        restore=restore,
        dataset=account.dataset,
        part=account.part,
        unit=units.column,
        request_id=account.request_id,
        parameters={name: plain(value) for name, value in asked.items()},
    )
    return made
