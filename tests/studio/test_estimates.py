"""Estimates in another process: the same numbers, and an end when nobody waits."""

import time
from collections.abc import Iterator

import pytest

from dpquantiles.forecast import Request
from dpquantiles.planner.estimates import Estimate
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.estimates import MOST_WAITING, Estimates, Failure, Running

SHORT = Asked(q="median", records="500", lower="0", upper="100").forecast(None).request
LONG = Asked(q="percentiles", records="1000", mechanism="joint_exp").forecast(None).request
"""An estimate that takes minutes."""


@pytest.fixture
def estimates() -> Iterator[Estimates]:
    made = Estimates()
    yield made
    made.close()


def ask(estimates: Estimates, name: str, request: Request, patience: float = 60) -> object:
    return estimates.ask(name, lambda: request, patience)


def test_numbers_are_those_of_this_process(estimates: Estimates) -> None:
    assert ask(estimates, "short", SHORT) == SHORT.estimate()
    again = estimates.ask("short", pytest.fail)
    assert isinstance(again, Estimate)


def test_a_long_estimate_can_be_ended(estimates: Estimates) -> None:
    assert isinstance(ask(estimates, "long", LONG, 1.0), Running)
    assert isinstance(ask(estimates, "short", SHORT, 0.1), Running)
    estimates.cancel("long")
    assert isinstance(ask(estimates, "short", SHORT), Estimate)


def test_what_waits_can_be_forgotten_and_is_limited(estimates: Estimates) -> None:
    ask(estimates, "long", LONG, 0.5)
    for k in range(MOST_WAITING + 9):
        ask(estimates, f"short {k}", SHORT, 0)
    assert len(estimates._waiting) == MOST_WAITING
    for k in range(MOST_WAITING + 9):
        estimates.cancel(f"short {k}")
    assert not estimates._waiting
    estimates.cancel("long")


def test_a_process_that_dies_is_replaced(estimates: Estimates) -> None:
    ask(estimates, "long", LONG, 1.0)
    estimates._worker.kill()
    assert isinstance(ask(estimates, "long", LONG), Failure)
    assert isinstance(ask(estimates, "short", SHORT), Estimate)


def test_a_refusal_is_a_failure(estimates: Estimates) -> None:
    impossible = SHORT._replace(mechanism="slice_quantiles")
    assert isinstance(ask(estimates, "no", impossible), (Failure, Estimate))
    unknown = SHORT._replace(q=())
    assert isinstance(ask(estimates, "empty", unknown), Failure)


def test_closing_ends_the_process() -> None:
    estimates = Estimates()
    ask(estimates, "short", SHORT)
    worker = estimates._worker
    estimates.close()
    deadline = time.monotonic() + 5
    while worker.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not worker.is_alive()
