"""Jobs: public parameters are settled before any data is read."""

import dataclasses
import random
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles.job import Job
from dpquantiles.kinds import INTEGER, Datetime
from dpquantiles.ledger.ledger import RunningRequest
from dpquantiles.present.releases import text
from dpquantiles.privacy import ZCDP, ApproxDP, Guarantee, Neighbors, PureDP, Units
from dpquantiles.run import run
from dpquantiles.sources import memory, named, parquet_files
from dpquantiles.sources.memory import TypedColumn


class Untouchable:
    """Data that fail the test when they are read."""

    def __iter__(self) -> Iterator[Any]:
        pytest.fail("data was read")

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"{name} of the data was asked for")


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"q": 2},
        {"bounds": 3},
        {"grid": 3},
        {"neighbors": "near"},
        {"size": -1, "neighbors": "add-remove"},
        {"missing": "never"},
        {"mechanism": "magic"},
        {"intervals": 1.5},
        {"rng": 3},
    ],
    ids=lambda options: next(iter(options)),
)
def test_parameters_are_checked_before_data_are_read(options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^{next(iter(options))} must "):
        dpq.quantiles(Untouchable(), **{"q": 0.5, "epsilon": 1, **options})


def job(data: Any = None, **options: Any) -> Job:
    stated = {"columns": (None,), "q": (0.5,), "budget": PureDP(epsilon=1), **options}
    return Job(data=data, **stated)


def test_a_job_is_a_frozen_value() -> None:
    protected = PureDP(epsilon=1, neighbors=Neighbors.ADD_REMOVE)
    made = job(budget=protected, bounds={None: [0, 9]})
    assert made.bounds == {None: (0, 9)}
    assert made.missing == "drop"
    assert job().missing == "drop"
    assert not job().drops_first
    assert made.drops_first
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.size = 2  # type: ignore[misc]


def test_a_job_builds_its_mechanism_for_distinct_ascending_quantiles() -> None:
    mechanism = job(q=(0.9, 0.1, 0.9), budget=PureDP(epsilon=2)).build("joint_exp", None)
    assert (mechanism.q, mechanism.guarantee) == ((0.1, 0.9), PureDP(epsilon=2.0))


def test_typed_columns_are_taken_as_they_are() -> None:
    options: Any = {"budget": PureDP(epsilon=40), "bits": random.Random(7)}
    release: Any = run(job(TypedColumn(np.full(301, 2.6), INTEGER), **options))
    assert release.value == 3
    moments = TypedColumn(np.full(301, 10**15).view("M8[us]"), Datetime())
    release = run(job(moments, **options))
    assert release.type == "datetime"


def test_a_ledger_is_charged_before_data_are_read(tmp_path: Path) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    spent: list[float] = []

    class Watched:
        def __iter__(self) -> Iterator[int]:
            spent.append(dpq.Ledger(tmp_path / "budget.db").spent("payroll"))
            return iter([1, 2, 3])

    release = dpq.median(Watched(), epsilon=0.75, ledger=ledger, dataset="payroll")
    assert spent[0] == 0.75
    assert release.guarantee == PureDP(epsilon=0.75)
    with pytest.raises(dpq.BudgetExceeded) as refused:
        dpq.median(Untouchable(), epsilon=0.75, ledger=ledger, dataset="payroll")
    assert refused.value.remaining == 0.25


def test_a_recorded_release_comes_back_without_reading(tmp_path: Path) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    options: dict[str, Any] = {"ledger": ledger, "dataset": "payroll", "request_id": "march"}
    days = [date(2026, 1, day) for day in range(1, 29)]
    bounds = (date(2026, 1, 1), date(2026, 2, 1))
    first = dpq.quartiles(days, epsilon=0.5, bounds=bounds, **options)
    again = dpq.quartiles(Untouchable(), epsilon=0.5, bounds=bounds, **options)
    assert again == first
    for other in ({"bounds": None}, {"missing": "lower"}, {"mechanism": "ind_exp"}):
        with pytest.raises(dpq.LedgerError, match="differs in its parameters"):
            dpq.quartiles(Untouchable(), **{"epsilon": 0.5, "bounds": bounds, **options, **other})


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.3, 1 / 3])
def test_what_runs_is_no_more_than_what_was_charged(tmp_path: Path, epsilon: float) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    release = dpq.median([1, 2, 3], epsilon=epsilon, ledger=ledger, dataset="payroll")
    assert release.guarantee == PureDP(epsilon=epsilon)
    run: Any = release.provenance["budget"]
    assert Fraction(run["epsilon"]) <= Fraction(repr(epsilon))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": None}, "dataset must be given with a ledger"),
        ({"rng": random.Random(7)}, "rng must be left out"),
        ({"dataset": ""}, "dataset must be a printable name"),
        ({"part": "north"}, "part must be written partition=label"),
        ({"ledger": None}, "dataset must be given together with a ledger"),
        ({"ledger": "budget.db"}, "ledger must be a Ledger"),
    ],
)
def test_wrong_accounts_cost_nothing(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    with pytest.raises((ValueError, TypeError), match=message):
        dpq.median(
            Untouchable(), **{"epsilon": 1, "ledger": ledger, "dataset": "payroll", **options}
        )
    assert len(ledger) == 1


def test_an_unreadable_column_keeps_its_charge_and_says_so(tmp_path: Path) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1.0)
    with pytest.raises(TypeError) as failed:  # only the records of a list tell that they are text
        dpq.median(["text"], epsilon=1, ledger=ledger, dataset="payroll", request_id="march")
    assert "'march' runs again without another charge" in failed.value.__notes__[0]
    dpq.median([1, 2, 3], epsilon=1, ledger=ledger, dataset="payroll", request_id="march")
    assert ledger.spent("payroll") == 1.0


def test_parameters_are_written_down_as_they_always_were() -> None:
    """A request that was charged by an earlier version is known by the same parameters."""
    made = job(q=(0.25, 0.5), bounds={None: (0, 9)}, grid=None, mechanism="joint_exp")
    assert made.parameters() == {
        "column": None,
        "q": "[0.25, 0.5]",
        "bounds": "[0, 9]",
        "resolution": None,
        "grid": None,
        "size": None,
        "missing": "drop",
        "mechanism": "joint_exp",
        "intervals": None,
        "rows": 1,
        "source": None,
    }
    described = job(columns=("a", "b"), bounds={"b": (0, 9)}, describes=True).parameters()
    assert described["columns"] == ["a", "b"]
    assert described["bounds"] == "[\"('b', (0, 9))\"]"
    gridded = job(grid=dpq.UniformGrid(0, 3)).parameters()
    assert gridded["grid"] == "{'name': 'uniform', 'lower': 0, 'upper': 3, 'points': 4}"


@pytest.mark.parametrize("columns", [{}, {"column": "x"}, {"column": "x", "unit": "u"}])
def test_a_size_for_each_key_needs_groups(columns: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"neighbors": "add-remove", "size": {"a": 5}, **columns}
    with pytest.raises(TypeError, match="size must be a whole number"):
        dpq.median(Untouchable(), epsilon=1, **asked)


def test_sizes_of_groups_may_come_from_numpy() -> None:
    table = pl.DataFrame({"g": ["a", "b"] * 50, "x": range(100)})
    options: dict[str, Any] = {"by": "g", "keys": ["a", "b"], "neighbors": "add-remove"}

    def sized(size: Any) -> Any:
        rng = random.Random(0)
        return dpq.median(table, column="x", epsilon=1, size=size, rng=rng, **options)

    assert sized(np.int64(50)) == sized(50) == sized({"a": np.int64(50), "b": 50})
    with pytest.raises(TypeError, match="size must be a whole number, got None"):
        sized({"a": None, "b": 50})


def test_a_described_column_may_have_no_bounds() -> None:
    table = pl.DataFrame({"x": range(100), "y": range(100)})
    pair: dict[str, Any] = {"x": (0, 100)}
    made = [
        dpq.describe(table, ["x", "y"], epsilon=1, bounds=bounds, rng=random.Random(0))
        for bounds in (pair, {**pair, "y": None})
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("column", [None, "x"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_typed_columns_in_memory_are_not_read_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, column: str | None
) -> None:
    table = pl.DataFrame({"x": [1.5, 2.5, 3.5]})
    frame = {"pandas": table.to_pandas, "polars": table.clone, "pyarrow": table.to_arrow}[library]()
    data = frame["x"] if column is None else frame
    lengths: list[int] = []

    def read(values: Any, *rest: Any) -> TypedColumn:
        lengths.append(len(values))
        return genuine(values, *rest)

    genuine = memory.read
    monkeypatch.setattr(memory, "read", read)
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(dpq.BudgetExceeded):
        dpq.median(data, column=column, epsilon=2, ledger=ledger, dataset="d")
    assert set(lengths) == {0}
    asked: dict[str, Any] = {"ledger": ledger, "dataset": "d", "request_id": "r"}
    first = dpq.median(data, column=column, epsilon=1, **asked)
    assert lengths[-1] == 3
    lengths.clear()
    assert dpq.median(data, column=column, epsilon=1, **asked) == first
    assert set(lengths) == {0}


def test_an_error_of_the_ledger_keeps_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left on the disk")

    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    monkeypatch.setattr(RunningRequest, "record", full)
    with pytest.raises(OSError, match="no space left") as raised:
        dpq.median([1, 2, 3], epsilon=1, ledger=ledger, dataset="d", request_id="r")
    assert "'r' runs again without another charge" in raised.value.__notes__[0]


def test_a_description_of_one_column_is_not_the_request_for_its_quantiles(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": range(100)})
    asked: dict[str, Any] = {"dataset": "d", "request_id": "r", "epsilon": 1}
    asked["ledger"] = dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    description = dpq.describe(table, ["x"], q=0.5, **asked)
    assert dpq.describe(table, ["x"], q=0.5, **asked) == description
    with pytest.raises(dpq.LedgerError, match="differs in its parameters"):
        dpq.median(table, column="x", **asked)


def test_one_size_for_all_keys_is_the_same_request_as_that_size_for_each(tmp_path: Path) -> None:
    table = pl.DataFrame({"g": ["a", "b"] * 50, "x": range(100)})
    asked: dict[str, Any] = {"dataset": "d", "request_id": "r", "epsilon": 1, "by": "g"}
    asked |= {"keys": ["a", "b"], "neighbors": "add-remove"}
    asked["ledger"] = dpq.Ledger(tmp_path / "budget.db", epsilon=1, neighbors="add-remove")
    first = dpq.median(table, column="x", size=50, **asked)
    assert dpq.median(table, column="x", size={"a": 50, "b": 50}, **asked) == first


@pytest.mark.parametrize("name", ["gone.csv", ".", "x.csv", "x.parquet"])
@pytest.mark.parametrize("charged", [False, True])
def test_a_file_is_opened_before_anything_is_charged_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, charged: bool
) -> None:
    """Parquet too where DuckDB is not installed: its footer names the columns."""
    others = {name: find_spec(name) for name in ("pyarrow", "polars")}
    for module in (named, parquet_files):
        monkeypatch.setattr(module, "find_spec", others.get)
    pl.DataFrame({"x": [1, 2]}).write_csv(tmp_path / "x.csv")
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    account: dict[str, Any] = {"ledger": ledger, "dataset": "d"} if charged else {}
    wrong = "no such file|is a directory|has no column 'y'"
    with pytest.raises((OSError, ValueError), match=wrong) as raised:
        dpq.median(tmp_path / name, column="y", epsilon=1, **account)
    assert not hasattr(raised.value, "__notes__")
    assert ledger.spent("d") == 0


@pytest.mark.parametrize("data", [None, 5, Path("ages.csv")], ids=lambda data: type(data).__name__)
def test_what_is_no_column_is_refused_before_the_charge(tmp_path: Path, data: Any) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(TypeError, match=r"^data must be a column of values, got "):
        dpq.median(data, epsilon=1, ledger=ledger, dataset="d")
    assert len(ledger) == 1


PROTECTED = Neighbors.ADD_REMOVE
BOTH = ApproxDP(epsilon=1, delta=1e-6)
BOTH_PROTECTED = ApproxDP(epsilon=1, delta=1e-6, neighbors=PROTECTED)
BY: dict[str, Any] = {"columns": ("x",), "by": ("g",)}
PEOPLE = Units(column="who", rows=3)

PROMISES: dict[str, tuple[dict[str, Any], Guarantee]] = {
    "no delta needed": ({"budget": BOTH}, PureDP(epsilon=1)),
    "delta needed": ({"budget": BOTH, "mechanism": "app_ind_exp"}, BOTH),
    "rho": ({"budget": ZCDP(rho=0.1)}, ZCDP(rho=0.1)),
    "research": ({"mechanism": "paper_joint_exp"}, PureDP(epsilon=1, research_only=True)),
    "several columns": ({"columns": ("x", "y"), "describes": True}, PureDP(epsilon=1)),
    "units": (
        {"columns": ("x",), "units": PEOPLE, "budget": BOTH_PROTECTED},
        PureDP(epsilon=1, neighbors=PROTECTED, unit="who"),
    ),
    "groups under swap": ({**BY, "budget": BOTH}, PureDP(epsilon=1, within=("g",))),
    "groups under add-remove": (
        {**BY, "budget": BOTH_PROTECTED},
        PureDP(epsilon=1, neighbors=PROTECTED),
    ),
    "private keys": ({**BY, "budget": BOTH_PROTECTED, "keys": "private"}, BOTH_PROTECTED),
    "private keys of units": (
        {**BY, "budget": BOTH_PROTECTED, "keys": "private", "units": PEOPLE},
        dataclasses.replace(BOTH_PROTECTED, unit="who"),
    ),
}


@pytest.mark.parametrize("case", PROMISES)
def test_a_job_promises_its_budget_to_those_it_protects(case: str) -> None:
    """The whole budget, without a delta if nothing needs it: never the share of one draw."""
    options, promise = PROMISES[case]
    made = job(**options)
    assert made.promise() == promise
    assert made.promise([made.usual.guarantee] * 3) == promise


@pytest.mark.parametrize("case", PROMISES)
def test_a_release_states_what_its_job_promises(case: str) -> None:
    options, promise = PROMISES[case]
    rows: dict[str, Any] = {"x": range(300), "y": range(300), "g": ["a", "b"] * 150}
    table = pl.DataFrame({**rows, "who": [k // 2 for k in range(300)]})
    columns, keys = options.get("columns"), options.get("keys", ["a", "b"])
    listed = {"keys": keys} if "by" in options else {}
    data: Any = list(range(300)) if columns is None else table
    bounds = dict.fromkeys(columns or (None,), (0, 300))
    result: Any = run(job(data, **{**options, **listed, "bounds": bounds}))
    assert result.guarantee == promise


def test_one_draw_that_needs_delta_is_enough_to_state_it() -> None:
    made = job(budget=BOTH)
    assert made.promise([PureDP(epsilon=0.5), ApproxDP(epsilon=0.5, delta=1e-7)]) == BOTH


def warned(data: Any, **options: Any) -> Any:
    return dpq.deciles(data, **{"epsilon": 1, **options}).provenance.get("warnings")


def test_a_hopeless_release_says_so() -> None:
    tails, sentence, help_ = warned(np.arange(30))
    assert tails.startswith("The answers for 0.1, 0.2, ")
    assert "only 3 of 30 records lie beyond" in tails
    assert sentence.startswith("Expect answers to be off by about ")
    assert (
        "of 30 records; the quantiles are only about 3 records apart, so answers may lie"
        in sentence
    )
    assert "bounds" in help_
    assert warned(np.arange(100_000)) is None
    assert warned(np.arange(1000), bounds=(0, 1000)) is None
    assert warned(np.array([], dtype=int)) == ["There are no records, so the answers are noise."]
    assert "protects almost nothing" in warned(np.arange(10_000), epsilon=21)[0]
    assert "outside the data" in str(warned([1.5, 2.5, 3.5], mechanism="fitted"))
    assert "outside the data" in str(warned(np.arange(300), mechanism="ind_exp"))
    assert warned(np.arange(300), mechanism="approx_quantiles") is None


def test_a_warning_follows_public_numbers_only() -> None:
    """Under add-remove neighbors the number of records is protected, and a stated one counts."""
    options: dict[str, Any] = {"neighbors": "add-remove"}
    assert warned([], **options) == warned(np.arange(10**5), **options) is None
    few, many = (warned(np.arange(n), **options, size=30) for n in (3, 1000))
    assert few == many is not None
    assert "of 30 records" in few[1]
    for n in (30, 300):
        assert warned(np.zeros(n)) == warned(np.arange(float(n)) ** 3)


def test_groups_with_few_records_are_counted() -> None:
    frame = pl.DataFrame({"g": ["a"] * 30 + ["b"] * 9000, "x": range(9030)})
    options: dict[str, Any] = {"column": "x", "by": "g", "epsilon": 1, "bounds": (0, 9030)}
    few: Any = dpq.deciles(frame, keys=["a", "b", "c"], **options).provenance["warnings"]
    (sentence,) = few
    assert sentence.startswith("2 of 3 groups have so few records (0 to 30) that the answers")
    assert "warnings" not in dpq.deciles(frame, keys=["b"], **options).provenance
    protected = {**options, "keys": ["a", "b"], "neighbors": "add-remove"}
    few = dpq.deciles(frame, **protected, size=20).provenance["warnings"]
    assert few[0].startswith("2 of 2 groups have so few records (20) that")
    assert "warnings" not in dpq.deciles(frame, **protected).provenance


def test_a_warning_is_shown() -> None:
    release = dpq.deciles(np.arange(30), epsilon=1)
    assert "far outside the data" in release._repr_html_()
    assert "far outside the data" in text(release).replace("\n", " ")
    described = dpq.describe(pl.DataFrame({"x": range(30)}), ["x"], epsilon=1)
    assert "x: The answers for " in described._repr_html_()
