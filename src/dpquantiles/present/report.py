"""A report: one HTML file that tells people who decide what was released, and how private it is.

It is a tree of elements, so that all text is escaped. It has no scripts and loads nothing.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib import resources
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from dpquantiles.present import chart, pictures
from dpquantiles.present.releases import Shown, columns, covered, facts, keys, ranges
from dpquantiles.present.words import exact, hidden, labels, missing, promise, quantile
from dpquantiles.privacy import ApproxDP, Guarantee, Neighbors, PureDP
from dpquantiles.results import Answers, Description, GroupedRelease, Release
from dpquantiles.version import __version__

SUSPICIONS = (0.01, 0.5)
"""What somebody may have thought before; the report says what they may think after it."""

TELLING_EPSILON = 8.0
"""For a larger epsilon, no suspicion stays one, and examples would soothe."""

MOST_ROWS = 500
"""The most groups in the table of a report."""

ERROR_SHARE = (
    "An expected error is a share of the group's records: at 0.02, a median is about the 48th to "
    "the 52nd percentile; near 1, an answer is noise."
)


class Remains(NamedTuple):
    """What a ledger has left for a data set, in words and as a share of its budget."""

    dataset: str
    words: str
    share: float


def page(result: Shown, remains: Remains | None = None) -> str:
    """A result as a report: a whole HTML page."""
    title = _title(result)
    document = Element("html", lang="en")
    head = SubElement(document, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "title").text = title
    style = resources.files(__package__).joinpath("report.css").read_text("utf-8")
    SubElement(head, "style").text = style
    main = SubElement(SubElement(document, "body"), "main")
    SubElement(main, "h1").text = title
    SubElement(main, "p", {"class": "lead"}).text = " ".join(in_short(result))
    main.extend(sections(result, remains))
    made = f"Made with dpquantiles {__version__}. This file is self-contained: it loads nothing."
    SubElement(main, "footer").text = made
    written = tostring(document, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{written}"


def _title(result: Shown) -> str:
    name = None if isinstance(result, Description) else result.column
    return "Private quantiles" if name is None else f"Private quantiles of {name}"


def sections(result: Shown, remains: Remains | None = None) -> list[Element]:
    """The parts of a report: the answers, what is protected, how accurate, cost and origin."""
    pairs = [
        (_protected(result), _accuracy(result)),
        (_cost(result, remains), _origin(result)),
    ]
    parts = [_answers(result)]
    for cards in pairs:
        parts.append(Element("div", {"class": "pair"}))
        parts[-1].extend(cards)
    return parts


def in_short(result: Shown) -> Iterator[str]:
    """The main answers as sentences."""
    if isinstance(result, GroupedRelease):
        yield f"{_counted(len(result), 'group')} by {' and '.join(result.by)}."
    elif isinstance(result, Description):
        yield f"{_counted(len(result), 'column')}."
    else:
        words = dict(zip(result.q, labels(result.values), strict=True))
        if 0.5 in words:
            yield f"About half of the records are {words[0.5]} or less."
        low, high = min(words, default=0.5), max(words, default=0.5)
        if 0 < low < 0.5:
            yield f"About {_percent(low)} are {words[low]} or less."
        if 0.5 < high < 1:
            yield f"About {_percent(1 - high)} are {words[high]} or more."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def _answers(result: Shown) -> Element:
    section = _section("Answers")
    both = SubElement(section, "div", {"class": "answers"})
    if len(result) and not (isinstance(result, Release) and len(set(result.q)) == 1):
        for room, width in {"wide": chart.WIDTH, "narrow": chart.NARROW}.items():
            both.append(pictures.element(result, width))
            both[-1].set("class", room)
    beside = facts(result, most=MOST_ROWS)
    shown = {
        name: column for name, column in columns(result, MOST_ROWS).items() if name not in beside
    }
    shown |= {name.replace("_", " "): column for name, column in beside.items()}
    both.append(_table(shown, keys(result), ranges(result, MOST_ROWS)))
    for sentence in hidden(result):
        _say(section, sentence)
    more = len(result) - MOST_ROWS if isinstance(result, GroupedRelease) else 0
    if more > 0:
        _say(section, f"{more:,} more groups are in the JSON and CSV files.", "small")
    return section


def _protected(result: Shown) -> Element:
    section = _section("What is protected")
    stated = result.guarantee
    if stated is None:
        _say(section, "These answers are not private, and must not be published.", "warning")
        _say(section, promise(result))
        return section
    whom = "record" if stated.unit is None else stated.unit
    there = "" if stated.neighbors is Neighbors.SWAP else ", even whether it is there at all"
    _say(
        section,
        "The answers contain a measured amount of randomness. It limits what anyone can learn from "
        f"this report about any single {whom}{there}, whatever else they know.",
        "promise",
    )
    if told := in_numbers(stated, "from this report"):
        _say(section, told)
    _say(section, f"In full: {promise(result)}", "small")
    return section


def in_numbers(stated: Guarantee, by: str) -> str:
    """What a guarantee means for somebody's suspicion; nothing where examples would mislead."""
    if not isinstance(stated, (PureDP, ApproxDP)) or stated.epsilon > TELLING_EPSILON:
        return ""
    whom = "record" if stated.unit is None else stated.unit
    (low, low_after), (even, even_after) = ((p, _suspected(p, stated.epsilon)) for p in SUSPICIONS)
    unless = f", except for a chance of {stated.delta:g}" if isinstance(stated, ApproxDP) else ""
    return (
        f"In numbers: someone who is {_percent(low)} sure of something about one {whom} can "
        f"become at most {_percent(low_after)} sure {by}; someone who is {_percent(even)} sure, "
        f"at most {_percent(even_after)} sure{unless}."
    )


def _suspected(before: float, epsilon: float) -> float:
    """The most that a suspicion can become, to two digits, rounded up."""
    odds = before / (1 - before) * math.exp(epsilon)
    after = odds / (1 + odds)
    scale = 1000 if after >= 0.1 else 10_000
    return math.ceil(after * scale) / scale


def _accuracy(result: Shown) -> Element:
    section = _section("How accurate it is")
    for sentence in [] if isinstance(result, Description) else covered(result):
        _say(section, sentence)
    if isinstance(result, GroupedRelease) and "expected_errors" in result.provenance:
        _say(section, ERROR_SHARE)
    parts = result.releases if isinstance(result, Description) else {"": result}
    for name, part in parts.items():
        expected, size = part.provenance.get("expected"), part.provenance.get("size")
        if isinstance(expected, Mapping):
            _say(section, f"{name}: " * bool(name) + _expected(expected, size))
        for warning in _listed(part, "warnings"):
            _say(section, f"{name}: " * bool(name) + warning, "warning")
    if isinstance(result, Release) and isinstance(result.provenance.get("expected"), Mapping):
        section.append(_errors(result, result.provenance["expected"]))
    if len(section) == 1:
        _say(
            section,
            "This release does not state how far off its answers may be. A plan predicts it before "
            "a release is made, and intervals show it beside the answers.",
        )
    return section


def _expected(expected: Mapping[str, Any], size: object) -> str:
    typical, most = (max(expected[name]) for name in ("rank_errors", "rank_errors_95"))
    whole, share = "", ""
    if isinstance(size, int) and size:
        whole, part = f" of {size:,}", 100 * most / size
        share = f" ({'less than 0.01' if part < 0.01 else f'{part:.2g}'}%)"
    return (
        f"On average, an answer is off by {_at_most(typical)}{whole} records. In 95 of 100 "
        f"releases it is off by {_at_most(most)}{share}. This holds if {expected['if']}."
    )


def _at_most(error: float) -> str:
    return "less than 1" if error < 1 else f"at most {_ranks(error)}"


def _ranks(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:g}"


def _errors(release: Release, expected: Any) -> Element:
    details = Element("details")
    SubElement(details, "summary").text = "Errors by quantile, in records"
    shown = {
        "q": [quantile(q) for q in release.q],
        "on average": [_ranks(error) for error in expected["rank_errors"]],
        "95 of 100": [_ranks(error) for error in expected["rank_errors_95"]],
    }
    details.append(_table(shown))
    return details


def _cost(result: Shown, remains: Remains | None) -> Element:
    section = _section("What it cost")
    if result.guarantee is None:
        _say(section, "Nothing was charged, because nothing is promised.")
        return section
    spent = f"{result.guarantee.measure} = {result.guarantee.amount:.6g}"
    _say(section, f"This release spent {spent} of the privacy budget of these records.")
    if remains is None:
        _say(
            section,
            "No ledger was used. All other releases about the same records add to this cost.",
        )
        return section
    _say(section, f"The ledger has a budget for the data set “{remains.dataset}”: {remains.words}.")
    share = min(max(1 - remains.share, 0.0), 1.0)
    section.append(bar(share))
    _say(section, f"{share:.0%} of the budget is spent.", "small")
    return section


def bar(share: float) -> Element:
    """How much of a budget is spent, as a bar; it needs no style of its own."""
    named = {"class": "bar", "role": "img", "aria-label": f"{share:.0%} of the budget is spent"}
    drawn = Element("svg", {"viewBox": "0 0 100 1", "preserveAspectRatio": "none", **named})
    SubElement(drawn, "rect", width=f"{100 * share:.1f}", height="1")
    return drawn


def _origin(result: Shown) -> Element:
    section = _section("How it was made")
    parts = result.releases if isinstance(result, Description) else {"": result}
    for name, part in parts.items():
        if name and part.column is None:
            _say(section, name)
        listed = SubElement(section, "dl")
        for term, words in _facts(part):
            SubElement(listed, "dt").text = term
            SubElement(listed, "dd").text = words
    details = SubElement(section, "details")
    SubElement(details, "summary").text = "Rounding and provenance"
    for note in (note for part in parts.values() for note in _listed(part, "precision")):
        _say(details, note, "small")
    plain = {name or "release": dict(part.provenance) for name, part in parts.items()}
    SubElement(details, "pre").text = json.dumps(plain, indent=2, default=str)
    return section


def _facts(part: Answers) -> Iterator[tuple[str, str]]:
    stated: Mapping[str, Any] = part.provenance
    if part.column is not None:
        yield "Column", part.column
    if isinstance(size := stated.get("size"), int):
        yield "Records", f"{size:,}"
    yield "Mechanism", part.mechanism
    if isinstance(grid := stated.get("grid"), Mapping):
        drawn = grid.get("member", grid)
        step = _step(part.type, drawn)
        found = ", found by the release itself" if "member" in grid else ""
        ends = [drawn.get(name) for name in ("lower", "upper")]
        if None not in ends:
            yield "Possible answers", f"{' to '.join(map(_end, ends))}{step}{found}"
    if own := _listed(part, "drawn"):
        yield "Drawn", f"{len(own)} of {len(part.q)} quantiles; the others lie on the lines between"
    if "missing" in stated:
        yield "Missing values", missing(stated["missing"]).removeprefix("Missing values ")


def _end(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.15g}"
    return f"{value:,}" if isinstance(value, int) else exact(value)


def _step(type: str, drawn: Mapping[str, Any]) -> str:
    """The step between possible answers in words. A step counts days, or last decimal places."""
    if "step" not in drawn or type not in ("int", "float", "decimal", "date"):
        return ""
    step = exact(drawn["step"])
    if type == "date":
        return f" in steps of {step} day{'' if step == '1' else 's'}"
    if type == "decimal":
        places = Decimal(drawn["lower"]).as_tuple().exponent
        step = exact(Decimal(step).scaleb(int(places)).normalize())
    if type == "float":
        short = f"{drawn['step']:.2g}"
        step = short if float(short) == drawn["step"] else f"about {short}"
    return f" in steps of {step}"


def _listed(part: Answers, name: str) -> Sequence[Any]:
    """The sentences or numbers of the provenance under a name; there may be none."""
    found = part.provenance.get(name)
    return found if isinstance(found, list) else ()


def _section(heading: str) -> Element:
    section = Element("section")
    SubElement(section, "h2").text = heading
    return section


def _say(section: Element, words: str, style: str = "") -> None:
    SubElement(section, "p", {"class": style} if style else {}).text = words


def _table(
    shown: Mapping[str, Sequence[str]],
    keys: int = 1,
    below: Mapping[str, Sequence[str]] = {},
) -> Element:
    """A table of columns; the first ones name the rows, and some have small words in each cell."""
    box = Element("div", {"class": "scroll"})
    table = SubElement(box, "table")
    head = SubElement(SubElement(table, "thead"), "tr")
    sides = [{"class": "key"}] * keys + [{}] * (len(shown) - keys)
    for title, side in zip(shown, sides, strict=True):
        SubElement(head, "th", side).text = title
    body = SubElement(table, "tbody")
    for k, row in enumerate(zip(*shown.values(), strict=True)):
        line = SubElement(body, "tr")
        for title, words, side in zip(shown, row, sides, strict=True):
            cell = SubElement(line, "td", side)
            cell.text = words
            if title in below:
                SubElement(cell, "span", {"class": "small"}).text = below[title][k]
    return box
