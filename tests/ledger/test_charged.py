"""Releases that are charged: what is refused before the charge, and what the entries say."""

import csv
import datetime as dt
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles import Ledger, PureDP
from dpquantiles.kernels import draws
from dpquantiles.present import spending

ROWS = {
    "v": np.arange(60.0),
    "w": np.arange(60),
    "g": ["a", "b", "c"] * 20,
    "u": [f"p{k % 12}" for k in range(60)],
}
FRAME = pd.DataFrame(ROWS)
DAY = dt.date(2026, 1, 1)
MANY = np.linspace(0.0001, 0.9999, 1600)
ADD: dict[str, Any] = {"neighbors": "add-remove"}
BY: dict[str, Any] = {"by": "g", "keys": ["a", "b"], "bounds": (0, 100)}


def refused(ledger: Ledger, ask: Any, data: Any, message: str, **options: Any) -> None:
    """The message is about public parameters, and nothing was charged."""
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message) as error:
        ask(data, **{"epsilon": 1.0, "ledger": ledger, "dataset": "pay", **options})
    assert not hasattr(error.value, "__notes__")
    assert len(ledger) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": DAY}, "missing must be of type number"),
        ({"bounds": (3, 1)}, "bounds must"),
        ({"grid": dpq.UniformGrid(DAY, DAY + dt.timedelta(9))}, "date"),
        ({"epsilon": 1e-12}, "epsilon must be at least four times"),
        ({"epsilon": 1e-12, **ADD}, "use a larger budget"),
        ({"q": MANY, "mechanism": "joint_exp"}, "at most 1500 quantiles"),
        ({"q": [0.5, 0.50001], "mechanism": "slice_quantiles", "delta": 1e-6}, "slice_quantiles"),
        ({"missing": DAY, "unit": "u"}, "missing must be of type number"),
        ({"epsilon": 1e-12, "unit": "u", **ADD}, "use a larger budget"),
        ({"missing": DAY, **BY}, "missing must be of type number"),
        ({"q": MANY, "mechanism": "joint_exp", **BY}, "at most 1500 quantiles"),
        ({"epsilon": 1e-12, **BY}, "epsilon must be at least four times"),
        ({"epsilon": 1e-12, "resolution": 1, **BY}, "windows"),
        ({"epsilon": 1e-12, "size": 20, **BY, **ADD}, "windows"),
        ({"epsilon": 1e-9, "delta": 1e-6, **BY, **ADD, "keys": "private"}, "windows"),
    ],
)
def test_a_column_is_charged_only_for_what_can_be_drawn(
    path: Path, options: dict[str, Any], message: str
) -> None:
    ledger = Ledger(path, epsilon=3.0, delta=1e-3)
    refused(ledger, dpq.quantiles, FRAME, message, **{"q": 0.5, "column": "v", **options})


@pytest.mark.parametrize(
    "data",
    [np.arange(60.0), pd.Series(np.arange(60.0)), pl.Series(np.arange(60.0))],
    ids=["numpy", "pandas", "polars"],
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": (3, 1)}, "bounds must"),
        ({"bounds": (DAY, DAY)}, "bounds must be of type number"),
        ({"missing": DAY}, "missing must be of type number"),
        ({"epsilon": 1e-12}, "epsilon must be at least four times"),
    ],
)
def test_the_type_of_an_array_is_public(
    ledger: Ledger, data: Any, options: dict[str, Any], message: str
) -> None:
    refused(ledger, dpq.median, data, message, **options)
    dpq.median(data, epsilon=1.0, ledger=ledger, dataset="pay", bounds=(0, 60))
    assert ledger.spent("pay") == 1.0


@pytest.mark.parametrize("mechanism", ["adaptive_tree", "fitted", "joint_exp"])
def test_a_stated_size_is_no_number_of_records_to_rehearse_with(path: Path, mechanism: str) -> None:
    ledger = Ledger(path, epsilon=1.0, **ADD)
    stated: dict[str, Any] = {"size": 2**53, "mechanism": mechanism, **ADD}
    dpq.median(ROWS["v"], epsilon=1.0, ledger=ledger, dataset="pay", **stated)
    assert ledger.spent("pay") == 1.0


@pytest.mark.parametrize("data", [FRAME, pl.LazyFrame(ROWS), "pay.csv", b"pay", ROWS])
def test_what_is_no_column_is_refused_before_the_charge(ledger: Ledger, data: Any) -> None:
    refused(ledger, dpq.median, data, "data must be (one column|a column of values)")


def test_the_type_of_objects_is_told_after_the_charge(ledger: Ledger) -> None:
    """Only the records tell it."""
    for data in (np.array([1.0, 2.0], dtype=object), pd.Series([1.0, 2.0], dtype=object)):
        before = ledger.spent("pay")
        with pytest.raises(ValueError, match="bounds must"):
            dpq.median(data, epsilon=1.0, bounds=(3, 1), ledger=ledger, dataset="pay")
        assert ledger.spent("pay") == before + 1.0


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (("v", "w"), {"bounds": {"w": (5, 1)}}, "bounds must"),
        (("v", "w"), {"bounds": {"w": (DAY, DAY)}}, "bounds must be of type number"),
        (("v", "g"), {}, "column 'g': data must be numbers"),
        (("v", "w"), {"unit": "u", "max_rows_per_unit": 2}, "max_rows_per_unit=2 needs"),
        (("v", "w"), {"unit": "nobody"}, "unit must name a column"),
        (("v", "w"), {"missing": DAY}, "missing must be of type number"),
        (("v", "w"), {"epsilon": 1e-12}, "epsilon must be at least four times what rounding may"),
        (("v", "w"), {"epsilon": 1e-12, "unit": "u", **ADD}, "the budget must leave at least 2"),
    ],
)
def test_a_description_is_charged_only_if_all_columns_can_be_drawn(
    ledger: Ledger, columns: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    refused(ledger, dpq.describe, FRAME, message, columns=columns, **options)


def test_a_refused_budget_draws_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsal before a charge takes no secure bits, and reads no records."""
    monkeypatch.setattr(random.SystemRandom, "getrandbits", lambda *_: pytest.fail("drawn"))
    monkeypatch.setattr(draws, "os", None)
    for options in ({}, BY, {"unit": "u"}):
        with pytest.raises(dpq.BudgetExceeded):
            dpq.median(FRAME, column="v", epsilon=4.0, ledger=ledger, dataset="pay", **options)


def cost(ledger: Ledger) -> dict[str, Any]:
    return dict(ledger.entries()[1].content["cost"])


def test_groups_under_swap_protect_a_value_within_its_group(ledger: Ledger) -> None:
    release = dpq.median(FRAME, column="v", epsilon=0.1, ledger=ledger, dataset="pay", **BY)
    assert cost(ledger) == {
        "kind": "pure",
        "epsilon": 0.1,
        "neighbors": "swap",
        "research_only": False,
        "within": ["g"],
    }
    assert ledger.guarantee("pay") == release.guarantee == PureDP(epsilon=0.1, within=("g",))
    dpq.median(FRAME, column="v", epsilon=0.2, ledger=ledger, dataset="pay")
    assert ledger.guarantee("pay") == PureDP(epsilon=0.3, within=("g",))
    told = " ".join(spending.text(ledger).split())
    assert "pay (record) keeps 0.3-differential privacy" in told
    assert "one record replaced by any other of the same g" in told
    header, _, row, *_ = csv.reader(io.StringIO(ledger.to_csv()))
    assert dict(zip(header, row, strict=True))["within"] == "g"


def test_research_mechanisms_are_entered_as_such(ledger: Ledger) -> None:
    asked: dict[str, Any] = {"epsilon": 1.0, "bounds": (0, 60), "dataset": "pay"}
    dpq.median(FRAME, column="v", mechanism="paper_joint_exp", ledger=ledger, **asked)
    assert cost(ledger)["research_only"] is True
    assert ledger.guarantee("pay") == PureDP(epsilon=1.0, research_only=True)


def test_totals_name_their_unit(ledger: Ledger) -> None:
    assert ledger.guarantee("pay") is None
    release = dpq.median(FRAME, column="v", unit="u", epsilon=1.0, ledger=ledger, dataset="pay")
    assert ledger.guarantee("pay") is None
    assert ledger.guarantee("pay", unit="u") == release.guarantee == PureDP(epsilon=1.0, unit="u")


def test_another_number_of_rows_per_unit_is_another_request(path: Path) -> None:
    ledger = Ledger(path, epsilon=3.0, neighbors="add-remove")
    asked: dict[str, Any] = {"column": "v", "unit": "u", "epsilon": 1.0, **ADD}
    asked |= {"ledger": ledger, "dataset": "pay", "request_id": "march"}
    first = dpq.median(FRAME, max_rows_per_unit=2, **asked)
    assert dpq.median(FRAME, max_rows_per_unit=2, **asked) == first
    with pytest.raises(dpq.LedgerError, match="differs in its parameters"):
        dpq.median(FRAME, max_rows_per_unit=3, **asked)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_recorded_releases_give_frames_of_the_data(ledger: Ledger, library: Any) -> None:
    table = library(ROWS)
    asked: dict[str, Any] = {"ledger": ledger, "dataset": "pay", "epsilon": 0.5}
    for _ in range(2):
        groups: Any = dpq.median(table, column="v", request_id="groups", **BY, **asked)
        described = dpq.describe(table, ["v", "w"], request_id="all", **asked)
        assert isinstance(groups.to_frame(), library)
        assert isinstance(described.to_frame(), library)


def test_a_description_states_the_digits_that_were_charged(ledger: Ledger) -> None:
    asked: dict[str, Any] = {"ledger": ledger, "dataset": "pay", "epsilon": 0.1}
    alone = dpq.describe(FRAME, ["v"], **asked)
    assert alone.guarantee == alone["v"].guarantee == PureDP(epsilon=0.1)
    both = dpq.describe(FRAME, ["v", "w"], **asked)
    assert both.guarantee == PureDP(epsilon=0.1)
    assert both["v"].guarantee == PureDP(epsilon=0.05)
    run: Any = both["v"].provenance["budget"]
    assert run["epsilon"] < 0.05
    assert ledger.spent("pay") == 0.2


@pytest.mark.parametrize(
    "ask",
    [
        lambda data, **options: dpq.median(data, column="v", **options),
        lambda data, **options: dpq.median(data, column="v", unit="u", **options),
        lambda data, **options: dpq.median(data, column="v", **BY, **options),
        lambda data, **options: dpq.describe(data, ["v", "w"], **options),
    ],
    ids=["column", "unit", "groups", "description"],
)
@pytest.mark.parametrize("spelled", [str, Path])
def test_a_request_is_not_repeated_for_another_file(
    ledger: Ledger, tmp_path: Path, ask: Any, spelled: Any
) -> None:
    """It would get the answers of the first one."""
    files = [spelled(tmp_path / name) for name in ("secret-1.parquet", "secret-2.parquet")]
    for file in files:
        FRAME.to_parquet(file)
    options = {"epsilon": 1.0, "ledger": ledger, "dataset": "pay", "request_id": "march"}
    first = ask(files[0], **options)
    with pytest.raises(dpq.LedgerError, match=r"'march' was charged before.*differs in its param"):
        ask(files[1], **options)
    assert ask(files[0], **options) == ask(str(files[0]), **options) == first
    assert "secret" not in ledger.to_json()
