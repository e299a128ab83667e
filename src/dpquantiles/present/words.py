"""Promises in words, and labels of values and quantiles."""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from dpquantiles.grid.floating import EXACT_INTEGERS
from dpquantiles.grid.typed import TO_DOUBLES
from dpquantiles.intervals import DATA, POPULATION, Intervals
from dpquantiles.kinds import named
from dpquantiles.privacy import ZCDP, Guarantee, Neighbors, PureDP
from dpquantiles.privacy.conversions import in_words
from dpquantiles.privacy.guarantees import RESEARCH_NOTE
from dpquantiles.results import Answers, GroupedRelease, Release, Result
from dpquantiles.views import DROP

SIGNIFICANT = 6
"""The digits of the largest real number in a table; JSON and CSV have all digits."""

MIDNIGHT = "T00:00:00"
"""The end of a point in time without a zone that is the start of a day."""

NEGLIGIBLE = 1e-9
"""A number that is smaller than the largest one of a table by this factor counts as zero."""


def promise(result: Result) -> str:
    """The promise of a result in one sentence, or its note if it promises nothing."""
    if result.guarantee is None:
        return _sentence(result.note or "no privacy guarantee")
    return guarantee(result.guarantee)


def heading(result: Result) -> str:
    """What groups are of and divided by, which their table does not say; else nothing."""
    if not isinstance(result, GroupedRelease):
        return ""
    of = "" if result.column is None else f" of {result.column}"
    return f"Quantiles{of} by {', '.join(result.by)}"


def notes(result: Answers) -> list[str]:
    """Warnings about the answers, and notes about rounding and clamping that nobody requested."""
    listed = (result.provenance.get(name) for name in ("warnings", "precision"))
    sentences = [some for some in listed if isinstance(some, list)]
    kept = [[note for note in some if _matters(note, result)] for some in sentences]
    return [*_at_an_end(result), *(" ".join(some) for some in kept if some)]


def _at_an_end(result: Answers) -> list[str]:
    """A hint if every answer is a bound; the answers are public, and so is what they say."""
    grid = result.provenance.get("grid")
    if not isinstance(result, Release) or not isinstance(grid, Mapping) or result.type == "bool":
        return []
    (value, *others), shown = set(result.values), exact(result.values[0])
    ends = {grid.get("lower"): "lowest", grid.get("upper"): "highest"}
    end = ends.get(named(result.type).to_json(value))
    if others or end is None:
        return []
    return [
        f"Every answer is the {end} possible value, {shown}. Values beyond it count as {shown}; if "
        "there may be many of them, state wider bounds."
    ]


def _matters(note: str, result: Answers) -> bool:
    """Whether a note says something about the answers: rounding of huge numbers may not."""
    if result.type != "int" or not note.endswith(TO_DOUBLES):
        return True
    cells = (cell for column in result.columns().values() for cell in column)
    return any(isinstance(cell, int) and abs(cell) > EXACT_INTEGERS for cell in cells)


def hidden(result: Result) -> list[str]:
    """How many groups are not shown because they are too small, in one sentence, if any."""
    if not isinstance(result, GroupedRelease):
        return []
    stated: Mapping[str, Any] = result.provenance
    count, least = stated.get("hidden"), stated.get("min_size")
    if not count:
        return []
    verb, whose = ("is", "its size is") if count == 1 else ("are", "their sizes are")
    return [f"{count:,} of {len(result) + count:,} groups {verb} hidden: {whose} below {least:,}."]


POLICIES = {
    DROP: "are left out; how many there are stays protected",
    "lower": "count as the lowest value",
    "upper": "count as the highest value",
}
"""What becomes of missing values, by policy."""


TYPES = {
    "int": "whole numbers",
    "float": "numbers",
    "decimal": "numbers",
    "bool": "true or false",
    "date": "dates like 2024-03-31",
    "datetime": "dates with a time, like 2024-03-31 17:30,",
    "timedelta": "durations",
}
"""The cells of a type in words."""


def missing(policy: object) -> str:
    """What becomes of missing values, in one sentence."""
    stated = POLICIES.get(policy) if isinstance(policy, str) else None
    return f"Missing values {stated or f'count as {policy}'}."


def cells(type_name: str, policy: object) -> str:
    """Which cells of CSV files are missing values, and what becomes of them."""
    gone = f"cells that are empty, named by --na or not {TYPES.get(type_name, 'of its type')}"
    return f"{gone} count as missing; {missing(policy)[0].lower()}{missing(policy)[1:].rstrip('.')}"


def missing_values(results: Iterable[Answers]) -> list[str]:
    """The same for what results state, each sentence once."""
    stated = [result.provenance for result in results]
    return list(dict.fromkeys(missing(p["missing"]) for p in stated if "missing" in p))


def coverage(intervals: Intervals) -> str:
    """The meaning of intervals, in one sentence."""
    population = "population that the records were drawn from"
    whose = population if intervals.of == POPULATION else DATA
    return (
        f"Each interval contains the quantile of the {whose} with a chance of at least "
        f"{100 * intervals.level:.6g}%, whatever the data is."
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def guarantee(stated: Guarantee) -> str:
    """A guarantee, explained to people who do not know the term."""
    one = "any one record" if stated.unit is None else f"all records of any one {stated.unit}"
    many = "records" if stated.unit is None else f"distinct values of {stated.unit}"
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
    """The effect that one record can have on the result."""
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
    """Values for a table: real numbers share their decimal places, all others are exact.

    Points in time that are all midnights, as days of pandas are, are written as days.
    """
    if values and all(isinstance(value, float) for value in values):
        return _real_labels(values)
    if values and all(
        isinstance(v, dt.datetime) and v.isoformat()[10:] == MIDNIGHT for v in values
    ):
        return [value.isoformat()[:10] for value in values]
    return [exact(value) for value in values]


def exact(value: Any) -> str:
    """One value with all digits, in a form that our CSV reader understands."""
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
    """A quantile without the rounding error of its last bits."""
    return f"{q:.10g}"
