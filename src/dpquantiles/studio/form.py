"""The form of a plan: every field with its label and a hint."""

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from dpquantiles.kinds import BY_NAME
from dpquantiles.ledger import Ledger
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner import AUTO
from dpquantiles.require import NAMED_QUANTILES
from dpquantiles.studio.asked import OTHER, Asked
from dpquantiles.studio.choose import choosable
from dpquantiles.studio.html import Content, tag
from dpquantiles.studio.shelf import Item
from dpquantiles.views import MISSING_POLICIES

EPSILONS = (
    *(0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0),
)
"""Where the slider stops."""

CURVE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The epsilons at which the errors of a request are estimated."""

NEIGHBORS = {
    "swap": "What a record holds",
    "add-remove": "Also whether it is there",
}
LEVELS = {"": "none", "0.9": "90%", "0.95": "95%", "0.99": "99%"}
POLICIES = {
    "drop": "leave them out",
    "lower": "count as the lowest value",
    "upper": "count as the highest value",
}


def plan_form(asked: Asked, item: Item | None, ledger: Ledger | None) -> Element:
    """All fields; those that few people need are folded away."""
    more = [*_groups(asked, item), *_rarely(asked), _dataset(asked, item, ledger)]
    return tag(
        "form",
        tag("input", type="hidden", name="data", value=asked.data),
        _about(asked, item),
        _quantiles(asked),
        _epsilon(asked),
        _choices("neighbors", "What is protected", NEIGHBORS, asked.neighbors),
        _records(asked, item),
        _bounds(asked),
        _select("intervals", "Intervals around the answers", LEVELS, asked.intervals),
        tag("details", tag("summary", "Groups, people, rare options"), more, open=_is_rare(asked)),
        tag("p", tag("button", "Update the picture", class_="quiet"), class_="without-script"),
        action="/plan",
        method="get",
        id="plan",
        class_="card",
        aria_label="The plan",
        autocomplete="off",
    )


def _is_rare(asked: Asked) -> bool:
    usual = Asked()
    names = (
        "by",
        "also",
        "keys",
        "unit",
        "rows",
        "resolution",
        "missing",
        "delta",
        "size",
        "mechanism",
    )
    return any(getattr(asked, name) != getattr(usual, name) for name in names)


def _about(asked: Asked, item: Item | None) -> Element:
    if item is None:
        types = {"": "from the bounds", **dict.fromkeys(BY_NAME, "")}
        return tag(
            "div",
            tag("p", "A plan without data. ", tag("a", "Choose data", href="/")),
            _select("type", "Type of the values", types, asked.type),
        )
    columns: dict[str, str] = dict.fromkeys(choosable(item), "")
    kinds = {"": "found when it is read", **dict.fromkeys(BY_NAME, "")}
    return tag(
        "div",
        tag("p", "Of ", tag("strong", item.name), ". ", tag("a", "Choose others", href="/")),
        _select("column", "Column", columns, asked.column),
        _select("type", "Type of the column", kinds, asked.type) if item.is_text else None,
    )


def _quantiles(asked: Asked) -> Element:
    other = asked.q not in NAMED_QUANTILES
    names: dict[str, str] = {name: name.capitalize() for name in NAMED_QUANTILES}
    names[OTHER] = "Others"
    chosen = OTHER if other else asked.q
    hint = "For example 0.25, 0.5, p99.9 or 0.1:0.9:0.1."
    others = _text("others", "Other quantiles", asked.q if other else "", hint)
    others.set("data-only", "q=other")
    return tag("div", _choices("q", "Quantiles", names, chosen), others)


def _epsilon(asked: Asked) -> Element:
    hint = "Smaller is more private, larger is more accurate. Around 1 is usual."
    return tag(
        "div",
        tag("label", "Epsilon", for_="epsilon"),
        tag(
            "div",
            tag(
                "input",
                type="range",
                id="slider",
                min="0",
                max=str(len(EPSILONS) - 1),
                value=str(_nearest(asked.epsilon)),
                data_values=" ".join(f"{e:g}" for e in EPSILONS),
                aria_label="Epsilon, from more private to more accurate",
                aria_describedby="epsilon-hint",
                class_="with-script",
            ),
            _input("epsilon", asked.epsilon, inputmode="decimal", aria_describedby="epsilon-hint"),
            class_="slider",
        ),
        tag("p", hint, class_="hint", id="epsilon-hint"),
        class_="field",
    )


def _nearest(text: str) -> int:
    try:
        wanted = float(text)
    except ValueError:
        wanted = 1.0
    return min(range(len(EPSILONS)), key=lambda k: abs(EPSILONS[k] - wanted))


def _records(asked: Asked, item: Item | None) -> Element:
    alone = "How many records there are." if item is None else "Only the picture needs it."
    return _text("records", "About how many records", asked.records, alone, inputmode="numeric")


def _bounds(asked: Asked) -> Element:
    hint = "Known without looking at the data, such as 0 and 120. They are optional."
    return tag(
        "fieldset",
        tag("legend", "Where values may lie"),
        tag(
            "div",
            tag("div", tag("label", "Lowest", for_="lower"), _input("lower", asked.lower)),
            tag("div", tag("label", "Highest", for_="upper"), _input("upper", asked.upper)),
            class_="two",
        ),
        tag("p", hint, class_="hint"),
    )


def _groups(asked: Asked, item: Item | None) -> list[Element]:
    names = {"": "none"} | ({} if item is None else dict.fromkeys(item.columns(), ""))
    if item is None:
        return []
    keys = tag(
        "div",
        tag("label", "Groups to answer for", for_="keys"),
        tag("textarea", asked.keys, id="keys", name="keys", rows="3", aria_describedby="keys-hint"),
        tag(
            "p",
            "A public list, one group per line; for two columns, both parts: Kent, f. Or the word "
            "private, with a delta and with the presence of records protected.",
            class_="hint",
            id="keys-hint",
        ),
        class_="field",
    )
    keys.set("data-unless", "by=")
    rows = _text("rows", "Rows used of each", asked.rows, "At most; 1 by default.")
    rows.set("data-unless", "unit=")
    also = _select("also", "And by", names, asked.also)
    also.set("data-unless", "by=")
    return [
        _select("by", "By group", names, asked.by),
        also,
        keys,
        _select("unit", "Whom a row belongs to", names, asked.unit),
        rows,
    ]


def _rarely(asked: Asked) -> list[Element]:
    size = _text(
        "size", "Public number of records", asked.size, "Optional; only if it is known and public."
    )
    size.set("data-only", "neighbors=add-remove")
    policies = {name: POLICIES[name] for name in MISSING_POLICIES}
    if asked.missing not in policies:
        policies[asked.missing] = f"count as {asked.missing}"
    mechanisms = {AUTO: "chosen from public numbers", **dict.fromkeys(MECHANISMS, "")}
    return [
        size,
        _select("missing", "Missing values", policies, asked.missing),
        _text("resolution", "Distance between answers", asked.resolution, "Such as 0.5 or 7d."),
        _text(
            "delta",
            "Delta",
            asked.delta,
            "Only for some mechanisms and private groups, such as 1e-6.",
        ),
        _select("mechanism", "Mechanism", mechanisms, asked.mechanism),
    ]


def _dataset(asked: Asked, item: Item | None, ledger: Ledger | None) -> Element | None:
    if item is None or ledger is None:
        return None
    hint = "Whose budget is charged. The same data must always have the same name."
    names = {owner.dataset for owner in ledger.accounts()} | {item.dataset}
    listed = tag("datalist", [tag("option", value=name) for name in sorted(names)], id="names")
    box = _text(
        "dataset", "Data set in the ledger", asked.dataset or item.dataset, hint, list="names"
    )
    box.append(listed)
    return box


def _input(name: str, value: str, **attributes: Any) -> Element:
    return tag(
        "input", type="text", id=name, name=name, value=value, maxlength="4000", **attributes
    )


def _text(name: str, label: str, value: str, hint: str, **attributes: Any) -> Element:
    return tag(
        "div",
        tag("label", label, for_=name),
        _input(name, value, aria_describedby=f"{name}-hint", **attributes),
        tag("p", hint, class_="hint", id=f"{name}-hint"),
        class_="field",
    )


def _select(name: str, label: str, options: Mapping[str, str], chosen: str) -> Element:
    """A list to choose from: names, each perhaps with words in its place."""
    listed = [
        tag("option", words or value, value=value, selected=value == chosen)
        for value, words in options.items()
    ]
    return tag(
        "div",
        tag("label", label, for_=name),
        tag("select", listed, id=name, name=name),
        class_="field",
    )


def _choices(name: str, legend: str, options: Mapping[str, str], chosen: str) -> Element:
    """Buttons beside each other, one of which is chosen."""
    return tag(
        "fieldset",
        tag("legend", legend),
        tag("div", _buttons(name, options, chosen), class_="chips"),
    )


def _buttons(name: str, options: Mapping[str, str], chosen: str) -> Iterable[Content]:
    for value, words in options.items():
        yield tag(
            "label",
            tag("input", type="radio", name=name, value=value, checked=value == chosen),
            tag("span", words),
        )
