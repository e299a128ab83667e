"""The cost of several releases together, computed here or by Google's dp-accounting library."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from dpquantiles import require
from dpquantiles.errors import InvalidValue, MissingBackend
from dpquantiles.privacy.conversions import SAFE, above, renyi_epsilon
from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP


class Released(Protocol):
    """Anything that carries a guarantee, such as a release."""

    @property
    def guarantee(self) -> Guarantee | None: ...


def total(parts: Iterable[Guarantee | Released], *, delta: float | None = None) -> Guarantee:
    """The smallest budget that covers all parts, for the same people, one after another.

    If the parts were fixed in advance, they keep this total together. If some parts were chosen by
    looking at earlier answers, the promise is a budget that was fixed in advance and that the total
    (with the same `delta`) could not have exceeded, whatever the answers. A total that came about
    because someone stopped at will is no promise (`filters.md`).

    Pure parts add up. With a concentrated part among them, pure parts count as epsilon^2 / 2 and
    the rhos add up. With an approximate part, epsilons and deltas add up. If `delta` is given, the
    total is (epsilon, delta). It then spends `delta`, on top of the deltas of the parts, on pure
    and concentrated parts, at the one Renyi order that suits such a budget; or it adds up the pure
    parts as they are, if that is less. Sums are exact and rounded up.
    """
    if delta is not None:
        require.fraction(delta=delta)
    guarantees = _alike([_guarantee(part) for part in parts])
    if not guarantees:
        raise InvalidValue("parts must name at least one release, got none")
    shared = {
        "neighbors": guarantees[0].neighbors,
        "research_only": any(guarantee.research_only for guarantee in guarantees),
        "unit": guarantees[0].unit,
        # All parts protect a swap that leaves the columns of every part as they are.
        "within": tuple(dict.fromkeys(name for g in guarantees for name in g.within)),
    }
    return _sum(guarantees, delta, shared)


def _alike(guarantees: Sequence[Guarantee]) -> Sequence[Guarantee]:
    """Guarantees for the same unit and the same neighbors: swap if they are mixed."""
    units = {guarantee.unit or "one record" for guarantee in guarantees}
    if len(units) > 1:
        raise InvalidValue(f"parts must all protect the same unit, got {', '.join(sorted(units))}")
    if len({guarantee.neighbors for guarantee in guarantees}) > 1:
        return [guarantee.as_swap() for guarantee in guarantees]
    return guarantees


def _guarantee(part: Guarantee | Released) -> Guarantee:
    guarantee = part if isinstance(part, (PureDP, ApproxDP, ZCDP)) else part.guarantee
    if guarantee is None:
        raise InvalidValue("parts must all have a guarantee, got a release without one")
    return guarantee


class _Spent(NamedTuple):
    """Exact sums of epsilons, deltas and rhos."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction

    def at(self, delta: float | None) -> tuple[float, float]:
        """The sums as (epsilon, delta); rho is converted at a delta of its own."""
        epsilon, own = above(self.epsilon), Fraction(delta or 0)
        if self.rho:
            epsilon = renyi_epsilon(epsilon, above(self.rho), float(own))
        return epsilon, above(self.delta + own)


def _sum(
    guarantees: Sequence[Guarantee], delta: float | None, shared: dict[str, object]
) -> Guarantee:
    pure = [Fraction(g.epsilon) for g in guarantees if isinstance(g, PureDP)]
    approximate = [g for g in guarantees if isinstance(g, ApproxDP)]
    rho = sum((Fraction(g.rho) for g in guarantees if isinstance(g, ZCDP)), Fraction(0))
    as_rho = rho + sum(epsilon**2 / 2 for epsilon in pure)
    if delta is None and not approximate:
        if not rho:
            return PureDP(epsilon=above(sum(pure, Fraction(0))), **shared)  # type: ignore[arg-type]
        return ZCDP(rho=above(as_rho), **shared)  # type: ignore[arg-type]
    if delta is None and rho:
        raise InvalidValue(
            "delta must be given to add concentrated and approximate guarantees; "
            "the concentrated ones are converted at that delta"
        )
    added = sum((Fraction(g.epsilon) for g in approximate), Fraction(0))
    deltas = sum((Fraction(g.delta) for g in approximate), Fraction(0))
    options = [_Spent(added + sum(pure), deltas, rho).at(delta)]
    if pure and delta is not None:
        options.append(_Spent(added, deltas, as_rho).at(delta))
    epsilon, together = min(options)
    return ApproxDP(epsilon=epsilon, delta=together, **shared)  # type: ignore[arg-type]


def to_events(guarantees: Iterable[Guarantee]) -> Any:
    """All guarantees as one `ComposedDpEvent` of dp-accounting; they must protect the same unit.

    A pure guarantee becomes the binary randomized response with the same epsilon. Every epsilon-DP
    mechanism can be simulated from it (Kairouz, Oh, Viswanath, arXiv 1311.0776), so the event costs
    exactly as much. Accountants accept it under the relation REPLACE_ONE. Their result holds for
    the neighbors of the guarantees, or for swap neighbors if the guarantees are mixed.
    """
    try:
        from dp_accounting import dp_event
    except ImportError as missing:
        raise MissingBackend(
            "dp-accounting is needed to export events: pip install 'dpquantiles[accounting]'"
        ) from missing
    return dp_event.ComposedDpEvent(
        [_event(guarantee, dp_event) for guarantee in _alike(tuple(guarantees))]
    )


def _event(guarantee: Guarantee, dp_event: Any) -> Any:
    if isinstance(guarantee, PureDP):
        # Less noise promises less, so rounding down is safe, even to no noise at all.
        chance_of_noise = 2 / (1 + guarantee.odds) * SAFE
        return dp_event.RandomizedResponseDpEvent(chance_of_noise, 2)
    if isinstance(guarantee, ZCDP):
        return dp_event.ZCDpEvent(guarantee.rho)
    raise InvalidValue(
        "guarantees must be pure or concentrated to become events, got "
        f"{guarantee}; dp-accounting has no event for it"
    )
