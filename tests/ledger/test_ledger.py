"""The ledger: budgets, requests, parts, units, and what it hands on."""

import csv
import hashlib
import io
import json
import pickle
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpquantiles import ZCDP, ApproxDP, BudgetExceeded, LedgerError, Neighbors, PureDP, Release
from dpquantiles.ledger import Ledger, file
from dpquantiles.ledger.books import RULE
from dpquantiles.ledger.entries import START, next_entry
from dpquantiles.ledger.ledger import SOFTWARE
from dpquantiles.present import spending
from dpquantiles.privacy import Guarantee
from tests.ledger.crowd import release, released

ONE = PureDP(epsilon=1.0)


def actions(ledger: Ledger) -> Counter[str]:
    return Counter(entry.content["action"] for entry in ledger.entries())


def test_charges_add_up_to_the_budget_and_no_further(ledger: Ledger) -> None:
    for left in (2.0, 1.0, 0.0):
        ledger.charge(ONE, dataset="payroll")
        assert ledger.remaining("payroll") == left
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(PureDP(epsilon=1e-9), dataset="payroll")
    assert refused.value.remaining == 0.0
    assert "remaining epsilon = 0 of epsilon = 3" in str(refused.value)
    assert (ledger.spent("payroll"), len(ledger)) == (3.0, 4)


def test_a_refusal_says_what_remains_and_changes_nothing(ledger: Ledger, path: Path) -> None:
    ledger.charge(ONE, dataset="payroll")
    before = path.read_bytes()
    with pytest.raises(
        BudgetExceeded, match=r"'payroll' does not allow epsilon = 2\.5: "
    ) as refused:
        ledger.charge(PureDP(epsilon=2.5), dataset="payroll")
    assert refused.value.remaining == 2.0
    ledger.charge(PureDP(epsilon=2.0), dataset="survey")
    with pytest.raises(LedgerError, match="charges of epsilon alone"):
        ledger.charge(ZCDP(rho=1), dataset="payroll")
    assert before != path.read_bytes()
    assert ledger.spent("payroll") == 1.0


def test_data_sets_and_units_have_budgets_of_their_own(ledger: Ledger) -> None:
    ledger.charge(PureDP(epsilon=3.0), dataset="payroll")
    ledger.charge(PureDP(epsilon=2.0), dataset="payroll", unit="person")
    assert ledger.remaining("payroll") == 0.0
    assert ledger.remaining("payroll", unit="person") == 1.0
    assert ledger.remaining("survey") == 3.0
    charged = {owner: standing.charges for owner, standing in ledger.accounts().items()}
    assert charged == {("payroll", "record"): 1, ("payroll", "person"): 1}
    for (dataset, unit), standing in ledger.accounts().items():
        assert standing.remaining == ledger.remaining(dataset, unit=unit)
        assert standing.guarantee == ledger.guarantee(dataset, unit=unit)


def test_disjoint_parts_share_a_budget(ledger: Ledger) -> None:
    for region in ("north", "south", "east"):
        ledger.charge(PureDP(epsilon=2.0), dataset="payroll", part=f"region={region}")
    assert ledger.spent("payroll") == 2.0
    assert ledger.remaining("payroll", part="region=west") == 3.0
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(epsilon=2.0), dataset="payroll", part="region=north")
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(epsilon=2.0), dataset="payroll", part="sex=f")


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "delta": 1e-6},
        {"rho": 0.5},
        {"epsilon": 1.0, "neighbors": "add-remove"},
    ],
    ids=str,
)
def test_a_budget_is_kept(path: Path, budget: dict[str, object]) -> None:
    made = Ledger(path, **budget)  # type: ignore[arg-type]
    assert Ledger(path).budget == Ledger(path, **budget).budget == made.budget  # type: ignore[arg-type]


def test_another_budget_is_refused(ledger: Ledger, path: Path) -> None:
    before = ledger.path.read_bytes()
    for other in ({"epsilon": 2.0}, {"rho": 3.0}, {"epsilon": 3.0, "neighbors": "add-remove"}):
        with pytest.raises(LedgerError, match="has a different budget: 3-differential privacy"):
            Ledger(path, **other)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", [{"epsilon": 3.0, "delta": 1e-5}, {"rho": 1.0}], ids=str)
def test_other_kinds_of_budget_convert(path: Path, kind: dict[str, float]) -> None:
    ledger = Ledger(path, **kind)  # type: ignore[arg-type]
    ledger.charge(PureDP(epsilon=0.1), dataset="payroll")
    ledger.charge(ZCDP(rho=0.1), dataset="payroll")
    ledger.charge(PureDP(epsilon=0.1, neighbors=Neighbors.ADD_REMOVE), dataset="payroll")
    assert 0 < ledger.spent("payroll") < 3
    assert 0 < ledger.remaining("payroll") < 3
    if "delta" in kind:
        with pytest.raises(BudgetExceeded, match=r"epsilon = 1, delta = 0\.0001"):
            ledger.charge(ApproxDP(epsilon=1, delta=1e-4), dataset="payroll")


def test_a_repeated_request_is_charged_once_and_gives_the_same_release(ledger: Ledger) -> None:
    drawn = iter((7, 8))

    def ask() -> Release:
        draw = lambda: release(next(drawn))  # noqa: E731
        return released(ledger, ONE, draw, dataset="payroll", request_id="march")

    assert ask() == ask() == release(7)
    assert next(drawn) == 8
    assert actions(ledger) == {"budget": 1, "charge": 1, "release": 1}
    assert ledger.charge(ONE, dataset="survey", request_id="april") == "april"
    assert ledger.charge(ONE, dataset="survey", request_id="april") == "april"
    assert ledger.remaining("survey") == 2.0


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"cost": PureDP(epsilon=2.0)}, "cost"),
        ({"dataset": "survey"}, "dataset"),
        ({"unit": "person"}, "unit"),
        ({"part": "region=north"}, "part"),
        ({"parameters": {"q": [0.9]}}, "parameters"),
        ({"dataset": "survey", "unit": "person"}, "dataset and unit"),
    ],
    ids=lambda other: str(other),
)
def test_a_request_repeated_with_other_parameters_is_refused(
    ledger: Ledger, other: dict[str, object], named: str
) -> None:
    asked: dict[str, Any] = {
        "cost": ONE,
        "dataset": "payroll",
        "request_id": "march",
        "parameters": {"q": (0.5,)},
    }
    released(ledger, draw=lambda: release(7), **asked)
    released(ledger, draw=lambda: pytest.fail("drawn"), **asked)
    with pytest.raises(
        LedgerError, match=rf"charged before, in entry 2, and differs in its {named};"
    ):
        released(ledger, draw=lambda: pytest.fail("drawn"), **(asked | other))


def test_a_failed_draw_keeps_its_charge_and_can_be_completed(ledger: Ledger) -> None:
    def ask(draw: Callable[[], object]) -> Release:
        return released(ledger, ONE, draw, dataset="payroll", request_id="march")

    with pytest.raises(ZeroDivisionError) as failed:
        ask(lambda: 1 / 0)
    assert "charged, but nothing was released" in failed.value.__notes__[0]
    assert "'march' runs again" in failed.value.__notes__[0]
    assert ledger.spent("payroll") == 1.0
    assert ask(lambda: release(9)) == release(9)
    assert actions(ledger) == {"budget": 1, "charge": 1, "retry": 1, "release": 1}
    assert ledger.spent("payroll") == 1.0


def test_only_an_error_before_the_record_says_that_nothing_was_released(ledger: Ledger) -> None:
    """A block may also end without a record and without an error."""
    for _ in range(2):
        with ledger.charged(ONE, dataset="payroll", request_id="march") as entry:
            assert entry.recorded is None

    def fail_afterwards() -> float:
        with ledger.charged(ONE, dataset="payroll", request_id="march") as entry:
            assert entry.record(release(9)) == release(9).to_dict() == entry.recorded
            return 1 / 0

    with pytest.raises(ZeroDivisionError) as failed:
        fail_afterwards()
    assert not hasattr(failed.value, "__notes__")
    assert actions(ledger) == {"budget": 1, "charge": 1, "retry": 2, "release": 1}
    assert ledger.spent("payroll") == 1.0


def test_a_request_that_is_running_is_not_run_again(ledger: Ledger, path: Path) -> None:
    def nested() -> Release:
        with pytest.raises(LedgerError, match="'march' is being run by another process"):
            released(
                Ledger(path),
                ONE,
                lambda: pytest.fail("drawn"),
                dataset="payroll",
                request_id="march",
            )
        return release(7)

    assert released(ledger, ONE, nested, dataset="payroll", request_id="march") == release(7)
    assert [file.name for file in path.parent.iterdir()] == ["budget.db"]


def test_threads_may_share_a_ledger(path: Path) -> None:
    ledger = Ledger(path, epsilon=0.8)
    refused = threading.Semaphore(0)

    def charge(_: int) -> None:
        try:
            ledger.charge(PureDP(epsilon=0.1), dataset="payroll")
        except BudgetExceeded:
            refused.release()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(charge, range(12)))
    assert ledger.spent("payroll") == 0.8
    assert sum(refused.acquire(blocking=False) for _ in range(12)) == 4
    assert ledger.verify() == ledger.head


def test_two_ledgers_on_one_file_see_each_other(ledger: Ledger, path: Path) -> None:
    other = pickle.loads(pickle.dumps(ledger))
    other.charge(ONE, dataset="payroll")
    assert ledger.spent("payroll") == 1.0
    ledger.charge(ONE, dataset="payroll")
    assert other.spent("payroll") == 2.0
    assert other.head == ledger.head == Ledger(path).head


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201, 3, None])
def test_names_are_names(ledger: Ledger, name: object) -> None:
    for parameter in ("dataset", "unit", "request_id"):
        if (parameter, name) == ("request_id", None):
            continue
        with pytest.raises((ValueError, TypeError), match=f"^{parameter} must be a "):
            ledger.charge(ONE, **({"dataset": "payroll"} | {parameter: name}))  # type: ignore[arg-type]
    assert len(ledger) == 1


@pytest.mark.parametrize("part", ["north", "=north", "region=", 3])
def test_parts_name_their_partition(ledger: Ledger, part: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^part must be "):
        ledger.charge(ONE, dataset="payroll", part=part)  # type: ignore[arg-type]


def test_only_guarantees_are_charged(ledger: Ledger) -> None:
    with pytest.raises(TypeError, match="cost must be a guarantee"):
        ledger.charge(1.0, dataset="payroll")  # type: ignore[arg-type]


def test_entries_say_when_what_and_by_which_software(ledger: Ledger) -> None:
    ledger.charge(ONE, dataset="payroll", part="region=north", request_id="march")
    first, second = (entry.content for entry in ledger.entries())
    assert (first["time"], second["time"]) == (
        "2026-03-01T12:00:00.000000Z",
        "2026-03-01T13:00:00.000000Z",
    )
    assert first["budget"] == PureDP(epsilon=3.0).to_dict()
    assert second["cost"] == ONE.to_dict()
    assert (second["dataset"], second["unit"], second["part"], second["request"]) == (
        "payroll",
        "record",
        "region=north",
        "march",
    )
    assert set(second["software"]) == {"dpquantiles", "sqlite"}


def test_the_chain_can_be_checked_from_the_export_alone(ledger: Ledger) -> None:
    released(ledger, ONE, lambda: release(7), dataset="payroll")
    previous = ""
    for entry in json.loads(ledger.to_json())["entries"]:
        stated = entry.pop("hash")
        assert entry["previous"] == previous
        spelled = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(spelled.encode()).hexdigest()
        assert previous == stated
    assert previous == ledger.head


def test_csv_has_a_line_per_entry(ledger: Ledger) -> None:
    ledger.charge(PureDP(epsilon=0.1), dataset="a, b", part="x=1", request_id="march")
    header, budget, charge = csv.reader(io.StringIO(ledger.to_csv()))
    row = dict(zip(header, charge, strict=True))
    assert (row["dataset"], row["part"], row["request"]) == ("a, b", "x=1", "march")
    assert (row["kind"], row["epsilon"], row["delta"]) == ("pure", "0.1", "")
    assert budget[:3] == ["1", "2026-03-01T12:00:00.000000Z", "budget"]


def test_history_follows_every_account(ledger: Ledger) -> None:
    for dataset in ("a", "b", "a"):
        ledger.charge(ONE, dataset=dataset)
    assert [(point.owner.dataset, point.spent) for point in ledger.history()] == [
        ("a", 1.0),
        ("b", 1.0),
        ("a", 2.0),
    ]


def test_a_write_locks_others_out_before_it_reads(ledger: Ledger) -> None:
    other = sqlite3.connect(ledger.path, timeout=0.0, isolation_level=None)
    with file.writing(ledger.path), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_two_processes_that_create_one_ledger_share_it(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        heads = list(pool.map(lambda _: Ledger(path, epsilon=1.0).head, range(8)))
    assert len(set(heads)) == 1
    assert [file.name for file in path.parent.iterdir()] == ["budget.db"]


def test_the_rule_stands_in_the_first_entry(ledger: Ledger, path: Path) -> None:
    assert ledger.entries()[0].content["rule"] == RULE
    stated = {"action": "budget", "budget": ONE.to_dict(), "software": SOFTWARE}
    file.create(path.with_name("next.db"), next_entry(1, START, {**stated, "rule": "of tomorrow"}))
    with pytest.raises(LedgerError, match=r"rule 'of tomorrow'.*upgrade dpquantiles"):
        Ledger(path.with_name("next.db"))


def test_a_ledger_with_a_rule_does_not_pass_for_one_without(path: Path) -> None:
    """Earlier software would grant by its own rule; it refuses the second format."""
    Ledger(path, epsilon=1.0, delta=1e-6)
    image = bytearray(path.read_bytes())
    assert image[68:72] == (file.APPLICATION + 2).to_bytes(4, "big")
    image[71] = 1
    path.write_bytes(image)
    with pytest.raises(LedgerError, match="the file around them is not"):
        Ledger(path).verify()


def before_filters(path: Path, budget: Guarantee, costs: list[Guarantee]) -> Ledger:
    """A ledger as it was written before charges were counted by one order."""
    first = {"action": "budget", "budget": budget.to_dict(), "ledger": "0"}
    entries = [
        next_entry(1, START, {**first, "time": "2026-01-01T00:00:00Z", "software": SOFTWARE})
    ]
    for number, cost in enumerate(costs, start=2):
        name = {"dataset": "payroll", "unit": "record", "part": None, "request": str(number)}
        plain = {"action": "charge", **name, "cost": cost.to_dict(), "parameters": {}}
        stamped = {**plain, "time": "2026-01-01T00:00:00Z", "software": SOFTWARE}
        entries.append(next_entry(number, entries[-1].hash, stamped))
    file.create(path, entries[0])
    with file.writing(path) as table:
        table.append(entries[1:])
    return Ledger(path)


def test_ledgers_before_filters_go_on_where_the_rule_grants_all(path: Path) -> None:
    budget = ApproxDP(epsilon=1.0, delta=1e-6)
    ledger = before_filters(path, budget, [PureDP(epsilon=0.25), PureDP(epsilon=0.25)])
    assert path.read_bytes()[68:72] == (file.APPLICATION + 1).to_bytes(4, "big")
    assert (ledger.verify(), ledger.spent("payroll")) == (ledger.head, 0.5)
    ledger.charge(PureDP(epsilon=0.5), dataset="payroll")
    assert ledger.remaining("payroll") == 0.0


@pytest.mark.parametrize(
    "costs",
    [
        [ApproxDP(epsilon=0.4, delta=4e-7), ZCDP(rho=0.008)],
        [ZCDP(rho=1e-4), PureDP(epsilon=0.9)],
        [PureDP(epsilon=0.1), ApproxDP(epsilon=0.1, delta=9e-7)],
    ],
)
def test_ledgers_before_filters_grant_no_more_where_the_rule_would_not(
    path: Path, costs: list[Guarantee]
) -> None:
    """Nothing is lost: such an account can be shown, verified and exported, and is used up."""
    ledger = before_filters(path, ApproxDP(epsilon=1.0, delta=1e-6), costs)
    assert ledger.verify() == ledger.head
    assert ledger.remaining("payroll") == 0.0
    assert ledger.spent("payroll") <= 1.0
    assert ledger.guarantee("payroll") is not None
    assert spending.text(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(epsilon=1e-9), dataset="payroll")
    ledger.charge(PureDP(epsilon=1.0), dataset="survey")


@pytest.mark.parametrize(
    ("first", "other", "message"),
    [
        (ZCDP(rho=1e-3), ApproxDP(epsilon=0.1, delta=1e-7), "first charge was of rho"),
        (ApproxDP(epsilon=0.1, delta=1e-7), ZCDP(rho=1e-3), "first charge was of epsilon and del"),
    ],
)
def test_the_first_charge_says_what_delta_is_kept_for(
    path: Path, first: Guarantee, other: Guarantee, message: str
) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    ledger.charge(first, dataset="payroll")
    with pytest.raises(LedgerError, match=f"'payroll' of ledger .* cannot be charged.*{message}"):
        ledger.charge(other, dataset="payroll")
    assert not ledger.fits(other, dataset="payroll")
    ledger.charge(other, dataset="survey")


def test_a_refusal_says_which_delta_remains(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    ledger.charge(PureDP(epsilon=0.5), dataset="payroll")
    with pytest.raises(BudgetExceeded, match="remaining delta = 5e-07 for charges of epsilon and"):
        ledger.charge(ApproxDP(epsilon=0.1, delta=1e-6), dataset="payroll")
    with pytest.raises(BudgetExceeded, match=r"remaining epsilon = 0\.5 of epsilon = 1, delta"):
        ledger.charge(ApproxDP(epsilon=0.6, delta=1e-7), dataset="payroll")
