"""`dpquantiles plan` and `release --dry-run`: pictures, JSON, and nothing read."""

import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import polars as pl
import pytest

from tests.cli.conftest import Command

PLAN = ("plan", "--size", "2000", "-q", "quartiles", "--bounds", "0.0", "120.0")


def test_a_plan_shows_tables_a_picture_and_its_assumption(run: Command) -> None:
    done = run(*PLAN, "--epsilon", "1")
    assert done.code == 0
    for words in (
        "for 3 quantiles of 2,000 records at epsilon = 1",
        "evenly spread over 0.473 of the bounds",
        "joint_exp (auto)",
        "Error against budget",
        "epsilon = 0.1",
        "─●",
        "in values",
    ):
        assert words in done.out


def test_a_dry_run_shows_the_mechanism_that_was_asked_for(run: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n", encoding="utf-8")
    asked = ("release", tmp_path / "a.csv", "-c", "x", "-q", "0.5", "-e", "1", "--dry-run")
    shown = run(*asked, "--mechanism", "agg_tree").out
    assert "By quantile, agg_tree:" in shown
    assert "Error against budget, agg_tree:" in shown
    assert "By quantile, joint_exp:" in run(*asked, "--mechanism", "paper_joint_exp").out
    assert "auto chooses joint_exp: expected rank error" in shown
    assert "for a median of 10,000 records" in " ".join(shown.split())


def test_a_plan_as_json(run: Command) -> None:
    plain = run(*PLAN, "--rho", "0.5", "--format", "json").json
    assert plain["budget"]["rho"] == 0.5
    assert plain["size"] == 2000
    assert len(plain["table"][0]["bound95"]) == 3


def test_a_plan_draws_itself(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    done = run(*PLAN, "-e", "1", "--plot", path)
    assert done.code == 0
    assert "drew error against budget" in done.err
    root = fromstring(path.read_text("utf-8"))
    assert root.tag.endswith("svg")
    assert len([e for e in root.iter() if e.tag.endswith("polyline")]) == 2
    assert run(*PLAN, "-e", "1", "--plot", tmp_path / "no" / "x.svg").code == 2


def test_the_smallest_epsilon_is_found(run: Command) -> None:
    done = run(*PLAN, "--rank-error", "0.01", "--format", "json")
    assert done.code == 0
    assert "is enough for" in done.err
    bounds = next(r for r in done.json["table"] if r["mechanism"] == done.json["auto"]["mechanism"])
    assert max(bounds["bound95"]) <= 0.0103 * 2000


def test_types_follow_from_how_bounds_are_written(run: Command) -> None:
    rest = ("--size", "100", "-q", "median", "-e", "1", "--format", "json")
    assert run("plan", "--bounds", "0", "120", *rest).json["grid"]["points"] == 121
    assert run("plan", "--bounds", "0.0", "120.0", *rest).json["grid"]["points"] > 2**30
    assert (
        run("plan", "--bounds", "0", "120", "--type", "float", *rest).json["grid"]["points"] > 999
    )
    days = run("plan", "--bounds", "2024-01-01", "2024-12-31", *rest).json["grid"]
    assert (days["lower"], days["points"]) == ("2024-01-01", 366)
    times = run("plan", "--bounds", "2024-01-01", "2024-12-31 18:00", *rest).json["grid"]
    assert (times["lower"], times["upper"]) == ("2024-01-01T00:00:00", "2024-12-31T18:00:00")


@pytest.mark.parametrize(
    ("spread", "type"),
    [
        ("2020-01-01:2024-01-01", "date"),
        ("2020-01-01T06:2024-01-01T18", "datetime"),
        ("0s:3h", "timedelta"),
        ("0:9e4", "float"),
        ("20200101:20240101", "float"),
    ],
)
def test_a_spread_of_times_tells_the_type(run: Command, spread: str, type: str) -> None:
    asked = ("plan", "--size", "100", "-q", "median", "-e", "1", "--spread", spread)
    assert run(*asked).out == run(*asked, "--type", type).out != ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0"), "epsilon must be positive"),
        ((), "epsilon must be given"),
        (("--epsilon", "1", "--rank-error", "0.01"), "rank-error must be given instead of epsilon"),
        (("--rank-error", "0"), "rank-error must be positive"),
        (("--rank-error", "-1"), "rank-error must be positive"),
        (("--epsilon", "1", "--data", "tide"), "did you mean 'tied'?"),
        (("--epsilon", "1", "--spread", "7"), "spread must be a fraction"),
        (("--epsilon", "1", "--spread", "9:5"), "spread must be a pair low < high"),
        (("--epsilon", "1", "--size", "0"), "size must be at least 1"),
        (("--epsilon", "1", "--size", "x"), "size must be a whole number"),
    ],
)
def test_bad_options_are_named(run: Command, options: tuple[str, ...], message: str) -> None:
    done = run(*PLAN, *options)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


@pytest.fixture
def release(tmp_path: Path) -> tuple[str, ...]:
    """A dry run on a file whose records nobody could read."""
    file = tmp_path / "people.csv"
    file.write_text("age\nnobody reads this\n", encoding="utf-8")
    return ("release", str(file), "-c", "age", "-q", "median", "-e", "1", "--dry-run")


def test_a_dry_run_reads_nothing(run: Command, release: tuple[str, ...]) -> None:
    protected = ("--neighbors", "add-remove", "--size", "3000")
    done = run(*release, "--bounds", "0", "120", *protected)
    assert done.code == 0
    assert "no record was read" in done.out
    assert "a median of 3,000 records" in done.out
    assert done.err == ""


def test_a_dry_run_refuses_what_a_release_refuses(run: Command, release: tuple[str, ...]) -> None:
    for asked in (release, release[:-1]):
        done = run(*asked, "--size", "3000")
        assert (done.code, done.out) == (2, "")
        assert "size must be left out under swap neighbors" in done.err


def expected(shown: str) -> float:
    """The error that is stated for what auto chooses."""
    found = re.search(r"\(auto\) +([\d.,]+)", shown)
    assert found is not None, shown
    return float(found[1].replace(",", ""))


def test_a_dry_run_counts_the_rows_of_units(
    run: Command, release: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # here numbers are compared, so plans make all their draws
    unit = ("--unit", "age", "--neighbors", "add-remove", "--size", "5000", "--bounds", "0", "120")
    unit = (*unit, "--resolution", "1e-6")  # type: ignore[assignment]
    errors = [
        expected(run(*release, *unit, "--type", "float", "--max-rows-per-unit", rows).out)
        for rows in (1, 8, 50)
    ]
    assert errors[1] == pytest.approx(8 * errors[0], rel=0.3)
    assert errors[2] == pytest.approx(50 * errors[0], rel=0.3)


def test_a_dry_run_counts_what_intervals_cost(run: Command, release: tuple[str, ...]) -> None:
    asked = (*release, "--type", "float", "--bounds", "0", "120")
    plain, beside = (run(*asked, *more) for more in ((), ("--intervals", "0.95")))
    assert expected(beside.out) > 1.5 * expected(plain.out)
    assert "10,000 is assumed" in plain.err


def test_a_dry_run_plans_for_a_group(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "pay.csv"
    file.write_text("pay,county\n1,Kent\n", encoding="utf-8")
    asked = ("release", file, "-c", "pay", "-q", "0.5", "-e", "1", "--type", "float", "--dry-run")
    grouped = ("--by", "county", "--keys", "Kent,Essex")
    done = run(*asked, *grouped)
    assert done.code == 0
    assert "a median of 1,000 records" in " ".join(done.out.split())
    assert "the size of a group is not known; 1,000 is assumed" in done.err
    private = (
        "--neighbors",
        "add-remove",
        "--delta",
        "1e-6",
        "--by",
        "county",
        "--keys",
        "private",
    )
    assert expected(run(*asked, *private).out) > 0


def test_a_dry_run_says_what_it_does_not_know(run: Command, release: tuple[str, ...]) -> None:
    assert "number of records is not known; 10,000 is assumed" in run(*release).err
    done = run(*release, "--neighbors", "add-remove", "-q", "quartiles")
    assert "a fifth of the budget buys a count" in done.err
    assert "epsilon = 0.8" in done.out
    done = run(*release, "--neighbors", "add-remove", "-q", "0.5")
    assert "joint_exp needs no count of the records" in done.err
    assert "epsilon = 0.8" not in done.out


def test_a_dry_run_checks_its_parameters(run: Command, release: tuple[str, ...]) -> None:
    done = run(*release, "--mechanism", "joint-exp")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'joint_exp'?" in done.err


def test_a_dry_run_warns_of_a_hopeless_request(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "few.parquet"
    pl.DataFrame({"x": range(300)}).write_parquet(path)
    done = run("release", path, "-c", "x", "-q", "deciles", "-e", 0.05, "--dry-run")
    assert "Warns:   The answers for 0.1, " in done.out
    assert "Expect answers to be off by about" in done.out
    bounded = run(
        "release", path, "-c", "x", "-q", "deciles", "-e", 1, "--dry-run", "--bounds", 0, 300
    )
    assert "Warns:" not in bounded.out


def test_the_epsilon_for_an_error_in_values(run: Command) -> None:
    options = ("plan", "--size", "1e4", "-q", "median", "--spread", "10000:90000")
    done = run(*options, "--value-error", "1000")
    assert re.match(r"note: epsilon = [\d.]+ is enough for a 95% value error", done.err)
    (worst,) = re.findall(r"^  0\.5 .* ([\d.]+)$", done.out, re.MULTILINE)
    assert float(worst) <= 1000
    refused = run("plan", "--size", "1e4", "-q", "median", "--value-error", "1000")
    assert "state --spread LOW:HIGH or bounds" in refused.err
    assert run(*options, "--value-error", "9", "-e", "1").code == 2
    weeks = ("--bounds", "2020-01-01", "2024-01-01", "--value-error", "7d")
    assert "value error of at most 7d" in run("plan", "--size", "1e4", "-q", "median", *weeks).err


def test_an_error_is_met_by_a_release_with_intervals(run: Command) -> None:
    """Once the epsilon was found for a release without them, and the plan missed its own aim."""
    options = ("--size", "1e4", "-q", "deciles", "--bounds", "0.0", "120.0", "--rank-error", "0.01")
    done = run("plan", *options, "--intervals", "0.95", "--format", "json").json
    (auto,) = [one for one in done["table"] if one["mechanism"] == done["auto"]["mechanism"]]
    assert max(auto["bound95"]) <= 0.0103 * 1e4
