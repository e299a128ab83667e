"""`dpquantiles release`: formats, types, options and notes."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from dpquantiles import Intervals, PureDP, Release
from dpquantiles.cli import screen
from tests.cli.conftest import Command

DECILES = [k / 10 for k in range(1, 10)]


def test_json_when_piped(run: Command, table: Path) -> None:
    done = run("release", table, "--column", "change", "-q", "quartiles", "--epsilon", 1)
    assert done.code == 0
    release = Release.from_json(done.out)
    assert release.q == (0.25, 0.5, 0.75)
    assert release.type == "int"
    assert release.guarantee == PureDP(epsilon=1)


def test_text_on_a_terminal(run: Command, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    done = run("release", table, "-c", "change", "-q", "quartiles", "-e", 100)
    assert done.out.splitlines()[1].split() == ["q", "change"]
    assert "differential privacy" in done.out
    assert "\x1b[3" not in done.out


def test_csv(run: Command, table: Path) -> None:
    done = run("release", table, "-c", "change", "-q", "0.5", "-e", 1, "--format", "csv")
    header, answer = done.out.splitlines()
    assert header == "q,value"
    assert answer.startswith("0.5,")


def test_plain_text_when_asked(run: Command, table: Path) -> None:
    done = run("release", table, "-c", "change", "-q", "deciles", "-e", 1, "--format", "text")
    assert len(done.out.splitlines()) > 10
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("text", "q"),
    [
        ("0.1:0.9:0.1", DECILES),
        ("deciles", DECILES),
        ("0:1:0.25", [0, 0.25, 0.5, 0.75, 1]),
        ("0.05:0.3:0.1", [0.05, 0.15, 0.25]),
        ("0.9,median,quartiles", [0.9, 0.5, 0.25, 0.75]),
        (" 0.5 , 0.1 ", [0.5, 0.1]),
        ("1e-2", [0.01]),
        ("p50,P99.9, p0.5", [0.5, 0.999, 0.005]),
    ],
)
def test_quantiles(run: Command, table: Path, text: str, q: list[float]) -> None:
    assert run("release", table, "-c", "change", "-q", text, "-e", 1).json["q"] == q


def test_quantiles_add_up(run: Command, table: Path) -> None:
    done = run("release", table, "-c", "change", "-q", "0.1", "-q", "median", "-e", 1)
    assert done.json["q"] == [0.1, 0.5]


def test_negative_bounds(run: Command, table: Path) -> None:
    done = run("release", table, "-c", "change", "-q", "0,1", "-e", 1, "--bounds", -180, 1440)
    assert done.code == 0
    grid = done.json["provenance"]["grid"]
    assert (grid["lower"], grid["upper"]) == (-180, 1440)
    assert all(-180 <= value <= 1440 for value in done.json["values"])


@pytest.mark.parametrize(
    "typed",
    [
        ("--bounds", "-180,1440"),
        ("--bounds", "-180 1440"),
        ("--bounds", "(-180, 1440)"),
        ("--bounds=-180,1440",),
        ("--bounds=-180", "1440"),
    ],
)
def test_bounds_as_people_type_them(run: Command, table: Path, typed: tuple[str, ...]) -> None:
    before = run("release", *typed, table, "-c", "change", "-q", "0.5", "-e", 1)
    after = run("release", table, "-c", "change", "-q", "0.5", *typed, "-e", 1)
    last = run("release", table, "-c", "change", "-q", "0.5", "-e", 1, *typed)
    for done in (before, after, last):
        grid = done.json["provenance"]["grid"]
        assert (grid["lower"], grid["upper"]) == (-180, 1440)


def test_bounds_of_points_in_time_have_blanks_of_their_own(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *["2024-01-01 10:00"] * 200, ""]))
    bounds = ("--bounds", "2024-01-01 00:00", "2024-01-02 00:00")
    done = run("release", path, "-c", "x", "--type", "datetime", *bounds, "-q", "0.5", "-e", 20)
    assert done.json["provenance"]["grid"]["upper"] == "2024-01-02T00:00:00"


@pytest.mark.parametrize("size", ["1000000", "1_000_000", "1e6", "1E+6", "1000000.0"])
def test_numbers_of_records_as_people_type_them(run: Command, size: str) -> None:
    plan = ("plan", "-q", "p50", "-e", 1, "--bounds", "0,120", "-f", "json")
    assert run(*plan, "--size", size).json["size"] == 1_000_000


def test_resolution(run: Command, table: Path) -> None:
    options = ("-q", "deciles", "-e", 1, "--bounds", 0, 100, "--resolution", 0.5)
    values = run("release", table, "-c", "rate", *options).json["values"]
    assert all(2 * value == int(2 * value) for value in values)


def test_dates(run: Command, table: Path) -> None:
    options = ("--bounds", "2024-01-01", "2024-12-30", "--resolution", "7d")
    done = run("release", table, "-c", "day", "-q", "deciles", "-e", 1, *options)
    days = [dt.date.fromisoformat(text) for text in done.json["values"]]
    assert {(day - dt.date(2024, 1, 1)).days % 7 for day in days} == {0}


@pytest.mark.parametrize(
    ("type_name", "cell", "bounds"),
    [
        ("bool", "yes", ("false", "true")),
        ("decimal", "1.25", ("0", "9.99")),
        ("datetime", "2024-01-01T10:00+02:00", ("2024-01-01T00:00Z", "2024-01-02T00:00Z")),
        ("datetime", "2024-01-01 10:00", ("2024-01-01", "2024-01-02")),
        ("datetime", "2024-01-01T10:00+02:00", ("2024-01-01", "2024-01-02")),
        ("timedelta", "1:30", ("0s", "1d")),
        ("float", "12", ("0", "20")),
        ("int", "12.2", ("0.5", "20")),
    ],
)
def test_stated_types(
    run: Command, tmp_path: Path, type_name: str, cell: str, bounds: tuple[str, str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *[cell] * 200, ""]))
    options = ("--type", type_name, "--bounds", *bounds, "-e", 20)
    done = run("release", path, "-c", "x", "-q", "median", *options)
    assert done.code == 0
    assert done.err.startswith("note: cells that are empty, named by --na or not ")
    assert done.err.count("\n") == 1
    assert done.json["type"] == type_name


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_records_of_a_stated_type_are_read(run: Command, tmp_path: Path, neighbors: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *["12"] * 2000, ""]))
    for type_name in ("int", "float", "decimal"):
        stated = ("--type", type_name, "--bounds", 0, 1000, "--neighbors", neighbors, "-e", 20)
        done = run("release", path, "-c", "x", "-q", "quartiles", *stated)
        assert [round(float(value)) for value in done.json["values"]] == [12, 12, 12]


@pytest.mark.parametrize(("rows", "must"), [("0", "at least 1"), ("", "a whole number")])
def test_rows_per_unit_are_checked(run: Command, table: Path, rows: str, must: str) -> None:
    options = ("-q", "median", "-e", 1, "--unit", "rate", "--max-rows-per-unit", rows)
    done = run("release", table, "-c", "change", *options)
    assert done.code == 2
    assert f"--max-rows-per-unit must be {must}" in done.err


def test_parquet(run: Command, tmp_path: Path) -> None:
    pl.DataFrame({"x": list(range(500))}).write_parquet(tmp_path / "x.parquet")
    done = run("release", tmp_path / "x.parquet", "-c", "x", "-q", "median", "-e", 20)
    assert (done.code, done.err) == (0, "")
    assert abs(done.json["values"][0] - 250) < 20


@pytest.mark.parametrize(
    ("policy", "low", "high"),
    [("lower", -100, 97), ("upper", 6, 1000), ("0", 0, 97), ("-3", -3, 97)],
)
def test_missing_cells(run: Command, table: Path, policy: str, low: int, high: int) -> None:
    options = ("--missing", policy, "--bounds", -100, 1000)
    done = run("release", table, "-c", "gaps", "-q", "0.05,0.95", "-e", 1000, *options)
    assert done.json["values"] == pytest.approx([low, high], abs=2)


def test_the_type_of_a_csv_column_is_told(run: Command, table: Path) -> None:
    done = run("release", table, "-c", "rate", "-q", "median", "-e", 1)
    assert done.err.startswith("note: column 'rate' read as float; ")
    stated = run("release", table, "-c", "rate", "-q", "median", "-e", 1, "--type", "float")
    assert "read as" not in stated.err


def test_a_seed_repeats_and_is_not_private(run: Command, table: Path) -> None:
    command = ("release", table, "-c", "change", "-q", "deciles", "-e", 0.5, "--seed", 7)
    first, second = run(*command), run(*command)
    assert first.out == second.out
    assert first.json["guarantee"] is None
    assert "warning: not private" in first.err


def test_without_a_seed_runs_differ(run: Command, table: Path) -> None:
    command = ("release", table, "-c", "rate", "-q", "deciles", "-e", 0.5)
    assert run(*command).json["values"] != run(*command).json["values"]


@pytest.mark.parametrize("format", ["text", "json", "csv"])
@pytest.mark.parametrize("size", [(), ("--size", 90)])
@pytest.mark.parametrize("q", ["median", "quartiles"])
def test_add_remove_never_tells_the_number_of_records(
    run: Command, tmp_path: Path, format: str, size: tuple[object, ...], q: str
) -> None:
    n = 7919
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *["1"] * (n - 2), "NA", "2", ""]))
    options = ("--neighbors", "add-remove", "--format", format, *size)
    done = run("release", path, "-c", "x", "-q", q, "-e", 1, *options)
    assert done.code == 0
    told = done.out + done.err
    if format == "json":
        # The private count may be any number, the true one included.
        told = told.replace(f'"size": {done.json["provenance"].get("size")}', "")
    assert str(n) not in told


def test_intervals(run: Command, table: Path) -> None:
    command = ("release", table, "-c", "change", "-q", "quartiles", "-e", 50, "--intervals", 0.9)
    release = Release.from_json(run(*command).out)
    assert release.ranks is not None
    assert release.ranks.requested == Intervals(0.9)
    assert all(
        lower <= v <= upper for v, (lower, upper) in zip(release, release.interval(), strict=True)
    )
    rows = run(*command, "--format", "csv").out.splitlines()
    assert rows[0] == "q,value,lower,upper"
    assert len(rows[1].split(",")) == 4
    shown = run(*command, "--intervals-of", "population", "--format", "text").out
    assert shown.split()[:4] == ["q", "change", "lower", "upper"]
    assert "of the population" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--intervals", 95), "intervals must lie strictly between 0 and 1, got 95.0"),
        (("--intervals", "wide"), "intervals must be a positive, finite number, got 'wide'"),
        (("--intervals-of", "population"), "intervals must be given with intervals-of"),
        (("--intervals", 0.9, "--intervals-of", "x"), "intervals_of must be one of 'data', "),
    ],
)
def test_wrong_intervals(
    run: Command, table: Path, options: tuple[object, ...], message: str
) -> None:
    done = run("release", table, "-c", "change", "-q", "median", "-e", 1, *options)
    assert done.code == 2
    assert message in done.err


def test_the_private_count_is_not_the_true_one(run: Command, table: Path) -> None:
    command = ("release", table, "-c", "change", "-q", "quartiles", "-e", 1)
    runs = [run(*command, "--neighbors", "add-remove") for _ in range(20)]
    assert len({done.json["provenance"]["size"] for done in runs}) > 1
