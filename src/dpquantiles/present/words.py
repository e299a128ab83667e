"""A guarantee and single values in words."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from dpquantiles.intervals import DATA, POPULATION, Intervals
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from dpquantiles.privacy.guarantees import RESEARCH_NOTE
from dpquantiles.privacy.rounding import in_words
from dpquantiles.release import Release

SIGNIFICANT = 6
"""Digits of the largest real number in a table; JSON and CSV carry all of them."""

NEGLIGIBLE = 1e-9
"""Beside the largest number of a table, a number smaller by this factor reads as zero."""


OPEN_BELOW, OPEN_ABOVE = "or less", "or more"
"""What stands in a table for an end of an interval that is open."""


class Promising(Protocol):
    """Anything that was released: it has a guarantee, or a note that says why it has none."""

    @property
    def guarantee(self) -> Guarantee | None: ...

    @property
    def note(self) -> str: ...


class Provided(Protocol):
    """Anything that says how it was made."""

    @property
    def provenance(self) -> Mapping[str, object]: ...


def promise(release: Promising) -> str:
    """What a release promises, in one sentence; its note when it promises nothing."""
    if release.guarantee is None:
        return _sentence(release.note or "no privacy guarantee")
    return guarantee(release.guarantee)


def statements(release: Release) -> list[str]:
    """All that a release says of itself: its promise, what its intervals hold, its precision."""
    covered = [] if release.ranks is None else [coverage(release.ranks.asked)]
    return [promise(release), *covered, *precision(release)]


def precision(release: Provided) -> list[str]:
    """What was rounded or clamped without being asked for, as the release says itself."""
    notes = release.provenance.get("precision")
    return [" ".join(notes)] if isinstance(notes, list) else []


def coverage(asked: Intervals) -> str:
    """What intervals hold, in one sentence."""
    population = "population that the records were drawn from"
    return (
        f"Each interval holds the quantile of the {population if asked.of == POPULATION else DATA} "
        f"with a chance of at least {100 * asked.level:.6g} %, whatever the data are."
    )


def columns(release: Release) -> dict[str, list[str]]:
    """A release as columns of labels: quantiles, values, and the ends of intervals, if any."""
    shown = {"q": [quantile(q) for q in release.q], "value": labels(release.values)}
    if release.ranks is not None:
        intervals = release.interval()
        shown["lower"] = _ends([end.lower for end in intervals], OPEN_BELOW)
        shown["upper"] = _ends([end.upper for end in intervals], OPEN_ABOVE)
    return shown


def _ends(ends: Sequence[Any], beyond: str) -> list[str]:
    """Labels of ends, with a word for those that are open."""
    known = iter(labels([end for end in ends if end is not None]))
    return [beyond if end is None else next(known) for end in ends]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def guarantee(stated: Guarantee) -> str:
    """A guarantee for people who have not met it before."""
    one = "any one record" if stated.unit is None else f"all records of any one {stated.unit}"
    many = "records" if stated.unit is None else f"different {stated.unit}"
    columns = " and ".join(stated.within)
    if stated.neighbors is Neighbors.SWAP:
        other = "any other" if stated.unit is None else "those of any other"
        same, each = (f" of the same {columns}", f" per {columns}") if columns else ("", "")
        change, count = f"Replacing {one} by {other}{same}", f"{each} is public"
    else:
        change, count = f"Adding or removing {one}", " is protected too"
    caution = f" {_sentence(RESEARCH_NOTE)}" if stated.research_only else ""
    return f"{change} {_effect(stated)}; the number of {many}{count}.{caution}"


def _effect(stated: Guarantee) -> str:
    """What one record can do to the result."""
    if isinstance(stated, ZCDP):
        return (
            f"shifts the odds of results by no more than rho = {in_words(stated.rho)} allows "
            "(zero-concentrated differential privacy)"
        )
    changes = f"changes the odds of any result by at most a factor of {_odds(stated.epsilon)}"
    if isinstance(stated, PureDP):
        return f"{changes} (pure differential privacy, epsilon = {in_words(stated.epsilon)})"
    return (
        f"{changes}, up to a chance of {in_words(stated.delta)} "
        f"(approximate differential privacy, epsilon = {in_words(stated.epsilon)})"
    )


def _odds(epsilon: float) -> str:
    if epsilon < math.log(1000):
        return in_words(math.exp(epsilon), digits=3)
    return f"exp({in_words(epsilon)})"


def labels(values: Sequence[Any]) -> list[str]:
    """Values for a table: real numbers share their decimal places, all others say all they are."""
    if values and all(isinstance(value, float) for value in values):
        return _real_labels(values)
    return [exact(value) for value in values]


def exact(value: Any) -> str:
    """One value, complete, in a form that the reader of CSV files reads again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _real_labels(values: Sequence[float]) -> list[str]:
    largest = max(map(abs, values)) or 1.0
    smallest = min((s for s in map(abs, values) if s > NEGLIGIBLE * largest), default=largest)
    places = SIGNIFICANT - 1 - math.floor(math.log10(largest))
    if not 0 <= places <= 2 * SIGNIFICANT or smallest < 10.0 ** (2 - places):
        return [f"{value:.{SIGNIFICANT}g}" for value in values]
    texts = [f"{value:z.{places}f}" for value in values]
    spare = min(len(text) - len(text.rstrip("0")) for text in texts) if places else 0
    return [text[: len(text) - spare].rstrip(".") for text in texts]


def quantile(q: float) -> str:
    """A quantile without the noise of its last bits."""
    return f"{q:.10g}"
