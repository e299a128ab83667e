"""Estimates in another process: the same numbers, and an end when nobody waits."""

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
    assert not worker.is_alive()
    assert not estimates._thread.is_alive()


def test_closing_while_the_process_starts_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine may be so slow that waiting for the thread ends before the process has started."""
    for _ in range(10):
        estimates = Estimates()
        with monkeypatch.context() as patch:
            patch.setattr(estimates._thread, "join", lambda timeout: None)  # noqa: ARG005
            estimates.close()
        estimates._thread.join(20)
        assert estimates._worker is None
