"""Generated calls hold to the rules, and the fuzzer finds whoever does not."""

import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpquantiles as dpq
from experiments.fuzz import __main__ as fuzz
from experiments.fuzz import calls
from experiments.fuzz.cases import build
from experiments.fuzz.check import RELEASED, check
from experiments.fuzz.origins import ORIGINS
from experiments.fuzz.workers import Worker
from tests.experiments import fuzz_checks

SHORT = range(1150, 1450)
SLOW_STARTS = ("dask", "ibis")
"""Libraries that take seconds to load; the long run has them."""


@pytest.mark.parametrize("first", SHORT[::50])
def test_generated_calls_hold_to_the_rules(first: int) -> None:
    for number in range(first, first + 50):
        if build(number).origin not in SLOW_STARTS and build(number).function != "plan":
            report = check(number)
            assert report.findings == (), report.case


def test_the_short_run_is_about_everything() -> None:
    cases = [build(number) for number in SHORT]
    assert {case.origin for case in cases} >= set(ORIGINS) - set(SLOW_STARTS)
    assert {case.types["v"].family for case in cases if case.types} >= {"float", "date", "decimal"}
    options = {name for case in cases for name in case.options}
    assert options >= {"by", "keys", "unit", "grid", "bounds", "missing", "size", "intervals"}
    assert sum(case.ledger is not None for case in cases) > 20


def test_a_case_is_the_same_whenever_it_is_built() -> None:
    for number in range(40):
        first, second = build(number), build(number)
        assert repr(first) == repr(second)
        assert [d.rows for d in first.data].__repr__() == [d.rows for d in second.data].__repr__()


def raises_on_missing(data: Any) -> None:
    if data.dtype.kind == "f" and np.isnan(data).any():
        raise ValueError("records must not be missing")


def quotes_the_count(data: Any) -> None:
    raise ValueError(f"{len(data)} records are too few")


def quotes_a_record(data: Any) -> None:
    raise ValueError(f"cannot read {data.tolist()}")


def quotes_a_record_where_few_look(data: Any) -> None:
    try:
        quotes_a_record(data)
    except ValueError:
        raise ValueError("cannot read the records") from None


def warns(_: Any) -> None:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=2)


def prints(_: Any) -> None:
    print("reading")


def logs(data: Any) -> None:
    logging.getLogger("dpquantiles").debug("reading %s", data.tolist())


def fails_by_accident(data: Any) -> None:
    int(float("nan")) if len(data) else None


def raises_what_nobody_expects(_: Any) -> None:
    raise KeyError("v")


PLANTED = {
    raises_on_missing: "outcomes differ",
    quotes_the_count: "outcomes differ|the number of records is quoted",
    quotes_a_record: "a record is quoted",
    quotes_a_record_where_few_look: "a record is quoted",
    logs: "a record is quoted",
    warns: "warning: RuntimeWarning: overflow encountered",
    prints: "output: reading",
    fails_by_accident: "raised by accident: ValueError: cannot convert float NaN to integer",
    raises_what_nobody_expects: "no refusal but an accident: KeyError",
}
IN_MEMORY = [n for n in range(600) if build(n).origin in ("numpy", "polars column", "polars")]


PRIVATE = [n for n in IN_MEMORY if build(n).private and build(n).function == "quantiles"]


def found(numbers: list[int], words: str) -> bool:
    """Whether one of these cases finds what was planted."""
    return any(re.search(words, line) for number in numbers for line in check(number).findings)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_call_that_misbehaves_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    quantiles = dpq.quantiles

    def planted(data: Any, *arguments: Any, **options: Any) -> Any:
        plant(data)
        return quantiles(data, *arguments, **options)

    monkeypatch.setattr(dpq, "quantiles", planted)
    arrays = [n for n in IN_MEMORY if build(n).origin == "numpy"]
    asked = [n for n in arrays if build(n).function == "quantiles"]
    assert found(asked[:40], PLANTED[plant])


@contextmanager
def uncharged(*_: Any, **__: Any) -> Iterator[Any]:
    yield SimpleNamespace(recorded=None, record=lambda result: json.loads(result.to_json()))


def charged_twice(self: Any, cost: Any, **named: Any) -> Any:
    self.charge(cost, dataset=named["dataset"])
    return CHARGED(self, cost, **named)


def charged_before_looking(self: Any, cost: Any, **named: Any) -> Any:
    self.charge(cost, dataset=named["dataset"])
    raise ValueError("too late")


CHARGED = dpq.Ledger.charged


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (uncharged, r"released, and the ledger holds \[\]"),
        (charged_twice, r"released, and the ledger holds \['charge', 'charge', 'release'\]"),
        (charged_before_looking, r"refused, and the ledger holds \['charge'\]"),
    ],
)
def test_a_ledger_that_does_not_charge_as_it_should_is_found(
    planted: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpq.Ledger, "charged", planted)
    assert found([n for n in IN_MEMORY if build(n).ledger][:12], words)


def test_results_that_are_not_what_they_say_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = calls.call
    changes: dict[str, Any] = {
        "guarantee None": {"guarantee": None},
        "JSON gives back something else": {"provenance": {"grid": {"ends": (1, 2)}, "budget": {}}},
        "answers (of type|out of bounds|off the grid)": {"values": (7.0e9,) * 9, "q": (0.5,) * 9},
        "shapes differ": {"mechanism": "other"},
    }
    for words, change in changes.items():
        made = 0

        def altered(*arguments: Any, change: Any = change) -> Any:
            nonlocal made
            result = drawn(*arguments)
            made += 1
            return replace(result, **change) if made % 2 else result

        monkeypatch.setattr(calls, "call", altered)
        assert found(PRIVATE, words), words


def test_a_worker_that_hangs_or_dies_is_replaced() -> None:
    worker = Worker(fuzz_checks.naps, seconds=5)
    try:
        reports = [worker.report(number) for number in range(10)]
    finally:
        worker.end()
    assert [bool(report.findings) for report in reports] == [n in (3, 5, 7, 9) for n in range(10)]
    assert "no answer within 5 s" in reports[3].findings
    assert "the process died" in reports[5].findings
    assert "ArithmeticError: in the check itself" in reports[7].findings[0]


def test_memory_is_bounded() -> None:
    worker = Worker(fuzz_checks.grows, megabytes=200)
    try:
        assert re.search(r"took \d+ megabytes", worker.report(0).findings[0])
    finally:
        worker.end()


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = fuzz.run(tmp_path, minutes=1, check=fuzz_checks.naps, most=3)
    assert (first.next, first.failures, first.outcomes) == (3, [], {RELEASED: 3})
    last = fuzz.run(tmp_path, minutes=1, check=fuzz_checks.finds, most=2)
    assert (last.next, last.failures, last.outcomes) == (5, [3, 4], {RELEASED: 5})
    assert "failed: make fuzz CASE=4" in last.summary
    assert "something" in (tmp_path / "case-4.json").read_text("utf-8")
