"""What a ledger grants, refuses and tells, with a clock of its own."""

import csv
import datetime as dt
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dpquantiles as dpq
from dpquantiles import ZCDP, ApproxDP, PureDP
from dpquantiles.ledger import Ledger
from tests.golden.stated import Case, plain

NOON = dt.datetime(2026, 3, 1, 13, 30, 15, 123, tzinfo=dt.timezone(dt.timedelta(hours=1)))
LONG = r"\d+\.\d{8,}(e[-+]\d+)?"
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "concentrated": {"rho": 0.5},
    "protected": {"epsilon": 1.0, "neighbors": "add-remove"},
}
COSTS = {
    "tenth": PureDP(epsilon=0.1),
    "little": PureDP(epsilon=1e-9),
    "protected": PureDP(epsilon=0.3, neighbors=dpq.Neighbors.ADD_REMOVE),
    "people": PureDP(epsilon=0.2, unit="person"),
    "within": PureDP(epsilon=0.2, within=("county",), research_only=True),
    "approximate": ApproxDP(epsilon=0.2, delta=4e-7),
    "concentrated": ZCDP(rho=0.01),
    "too much": PureDP(epsilon=1.5),
}
PLACES: tuple[dict[str, Any], ...] = (
    {"dataset": "payroll"},
    {"dataset": " payroll ", "request_id": "first"},
    {"dataset": "payroll", "request_id": "first"},
    {"dataset": "survey", "request_id": "first"},
    {"dataset": "payroll", "part": "region = north"},
    {"dataset": "payroll", "part": "region=south"},
    {"dataset": "payroll", "part": "region"},
    {"dataset": "payroll", "part": "=north"},
    {"dataset": "payroll", "unit": "person"},
    {"dataset": "x" * 200},
    {"dataset": "x" * 201},
    {"dataset": "a\nb"},
    {"dataset": ""},
)


def of_ledgers(folder: Path) -> Iterator[Case]:
    """Every kind of budget, charged with every kind of cost in every place."""
    for kind, budget in BUDGETS.items():
        times = (NOON + dt.timedelta(minutes=k) for k in itertools.count())
        ledger = Ledger(folder / f"{kind}.db", clock=times.__next__, **budget)
        for (name, cost), (number, place) in itertools.product(
            COSTS.items(), enumerate(PLACES[: 4 if kind != "pure" else None])
        ):
            named = f"{kind}: {name} in place {number}"
            yield named, partial(told, folder, charged, ledger, cost, place)
        yield f"{kind}: accounts", partial(told, folder, ledger.accounts)
        yield f"{kind}: history", partial(told, folder, ledger.history)
        yield f"{kind}: entries", partial(told, folder, entries, ledger)
        yield f"{kind}: csv", partial(told, folder, columns, ledger)
        yield f"{kind}: another budget", partial(told, folder, Ledger, ledger.path, epsilon=7.0)
        yield f"{kind}: shown", partial(told, folder, repr, ledger)


def charged(ledger: Ledger, cost: Any, place: dict[str, Any]) -> Any:
    """What is left and what was spent after a charge, or why there was none."""
    try:
        request = ledger.charge(cost, **place)
        outcome = "charged" if "request_id" not in place else request
    except (dpq.LedgerError, ValueError, TypeError) as refusal:
        outcome = f"{type(refusal).__name__}: {refusal}"
    where = {name: place[name] for name in ("dataset", "unit") if name in place}
    if not 0 < len(where["dataset"]) < 201 or "\n" in where["dataset"]:
        return outcome
    return outcome, len(ledger), ledger.remaining(**where), ledger.spent(**where)


def entries(ledger: Ledger) -> Any:
    """All entries without what differs from run to run."""
    found = json.loads(ledger.to_json())["entries"]
    left_out = ("hash", "previous", "ledger", "software", "request")
    return [{name: entry[name] for name in entry if name not in left_out} for entry in found]


def columns(ledger: Ledger) -> Any:
    """The first lines of the table, without what differs from run to run."""
    lines = list(csv.DictReader(io.StringIO(ledger.to_csv())))
    return [{**line, "request": "", "hash": len(line["hash"])} for line in lines[:5]]


def told(folder: Path, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """An answer or a refusal, wherever the ledger lies; long numbers to nine digits."""
    try:
        answer = function(*given, **named)
    except dpq.LedgerError as refusal:
        answer = str(refusal)
    text = json.dumps(plain(answer), sort_keys=True).replace(str(folder), "FOLDER")
    return json.loads(re.sub(LONG, lambda found: f"{float(found[0]):.9g}", text))
