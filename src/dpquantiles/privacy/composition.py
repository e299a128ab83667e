"""What several releases cost together."""

from collections.abc import Iterable
from typing import Protocol

from dpquantiles.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP


class Released(Protocol):
    """Anything that carries a guarantee, such as a release."""

    @property
    def guarantee(self) -> Guarantee | None: ...


def total(parts: Iterable[Guarantee | Released], *, delta: float | None = None) -> Guarantee:
    """The guarantee of all parts together, on the same people, chosen one after the other.

    Pure parts add up. With a concentrated part among them, pure ones count as epsilon^2 / 2 and
    the rhos add up; with an approximate part, epsilons and deltas add up, and concentrated parts
    are converted at `delta`. Given `delta`, the better of the ways is reported as (epsilon, delta).
    """
    guarantees = [_guarantee(part) for part in parts]
    if not guarantees:
        raise ValueError("parts must name at least one release, got none")
    if len({guarantee.unit for guarantee in guarantees}) > 1:
        units = sorted({guarantee.unit or "one record" for guarantee in guarantees})
        raise ValueError(f"parts must all protect the same unit, got {', '.join(units)}")
    if len({guarantee.neighbors for guarantee in guarantees}) > 1:
        guarantees = [guarantee.as_swap() for guarantee in guarantees]
    shared = {
        "neighbors": guarantees[0].neighbors,
        "research_only": any(guarantee.research_only for guarantee in guarantees),
        "unit": guarantees[0].unit,
        # What all parts protect: a swap that leaves the columns of every part as they are.
        "within": tuple(dict.fromkeys(name for g in guarantees for name in g.within)),
    }
    return _sum(guarantees, delta, shared)


def _guarantee(part: Guarantee | Released) -> Guarantee:
    found = part if isinstance(part, (PureDP, ApproxDP, ZCDP)) else part.guarantee
    if found is None:
        raise ValueError("parts must all have a guarantee, got a release without one")
    return found


def _sum(guarantees: list[Guarantee], delta: float | None, shared: dict[str, object]) -> Guarantee:
    pure = [g for g in guarantees if isinstance(g, PureDP)]
    concentrated = [g for g in guarantees if isinstance(g, ZCDP)]
    approximate = [g for g in guarantees if isinstance(g, ApproxDP)]
    added = sum(g.epsilon for g in pure)
    if not concentrated and not approximate and delta is None:
        return PureDP(epsilon=added, **shared)  # type: ignore[arg-type]
    rho = sum(g.rho for g in concentrated)
    if not approximate and delta is None:
        return ZCDP(rho=rho + sum(g.concentrated().rho for g in pure), **shared)  # type: ignore[arg-type]
    if concentrated and delta is None:
        raise ValueError(
            "delta must be given to add concentrated and approximate guarantees; "
            "the concentrated ones are converted at that delta"
        )
    spent = sum(g.epsilon for g in approximate), sum(g.delta for g in approximate)
    options = [_with_rho(spent, added, rho, delta)]
    if pure and delta is not None:
        options.append(_with_rho(spent, 0.0, rho + sum(g.concentrated().rho for g in pure), delta))
    epsilon, together = min(options)
    return ApproxDP(epsilon=epsilon, delta=together, **shared)  # type: ignore[arg-type]


def _with_rho(
    spent: tuple[float, float], added: float, rho: float, delta: float | None
) -> tuple[float, float]:
    """(epsilon, delta) of approximate parts, added epsilons, and a rho converted at delta."""
    if delta is None:
        return spent[0] + added, spent[1]
    extra = ZCDP(rho=rho).approximate(delta).epsilon if rho > 0 else 0.0
    return spent[0] + added + extra, spent[1] + delta
