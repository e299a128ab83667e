"""`dpquantiles release --by` and `--unit`."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import dpquantiles as dpq
from tests.cli.conftest import Command

pytest.importorskip("duckdb")

COUNTIES = ("Kent", "Essex", "Devon")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CSV file with groups and people, and a file of keys."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    lines = ["county,year,age,person"]
    for row in range(3000):
        county = rng.integers(0, 3)
        age = 20 + 20 * county + rng.integers(0, 5)
        lines.append(f"{COUNTIES[county]},{2023 + row % 2},{age},p{rng.integers(0, 1500)}")
    Path("people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("counties.csv").write_text("county,region\nDevon,SW\nKent,SE\nNowhere,\n", "utf-8")
    return tmp_path


BASE = ("release", "people.csv", "-c", "age", "-q", "0.5,0.25", "-e", "2", "--bounds", "0", "120")


@pytest.mark.usefixtures("people")
def test_groups_as_json(run: Command) -> None:
    done = run(*BASE, "--by", "county", "--keys", "counties.csv")
    assert done.code == 0
    release = dpq.GroupedRelease.from_json(done.out)
    assert list(release) == ["Devon", "Kent", "Nowhere"]
    assert abs(release["Devon"].values[0] - 62) <= 2
    assert release.guarantee is not None
    assert release.guarantee.within == ("county",)


@pytest.mark.usefixtures("people")
def test_groups_as_csv_and_text(run: Command) -> None:
    asked = (*BASE, "--by", "county", "--keys", "Kent,Devon")
    rows = list(csv.DictReader(io.StringIO(run(*asked, "--format", "csv").out)))
    assert [(row["county"], row["q"]) for row in rows] == [
        ("Kent", "0.5"),
        ("Kent", "0.25"),
        ("Devon", "0.5"),
        ("Devon", "0.25"),
    ]
    told = run(*asked, "--format", "text").out
    assert "Kent" in told
    assert "of the same county" in told


@pytest.mark.usefixtures("people")
def test_spaces_around_listed_keys_do_not_count(run: Command) -> None:
    done = run(*BASE, "--by", "county", "--keys", "Kent, Devon ", "--seed", "1")
    assert [group["key"] for group in done.json["groups"]] == [["Kent"], ["Devon"]]
    assert "no records" not in done.err


@pytest.mark.usefixtures("people")
def test_units_and_private_keys(run: Command) -> None:
    private = ("--keys", "private", "--delta", "1e-6", "--neighbors", "add-remove")
    unit = ("--unit", "person", "--max-rows-per-unit", "2")
    found = json.loads(run(*BASE, "--by", "county", *private, *unit).out)
    assert [group["key"] for group in found["groups"]] == [["Devon"], ["Essex"], ["Kent"]]
    assert found["guarantee"]["unit"] == "person"
    assert found["guarantee"]["delta"] == 1e-6
    alone = json.loads(run(*BASE, "--unit", "person").out)
    assert alone["guarantee"]["unit"] == "person"


@pytest.mark.usefixtures("people")
def test_several_key_columns(run: Command) -> None:
    Path("keys.csv").write_text("year,county\n2024,Kent\n2023,Essex\n", encoding="utf-8")
    done = run(*BASE, "--by", "county", "--by", "year", "--keys", "keys.csv")
    assert [group["key"] for group in json.loads(done.out)["groups"]] == [
        ["Kent", "2024"],
        ["Essex", "2023"],
    ]


@pytest.mark.usefixtures("people")
def test_whole_numbers_as_keys_of_a_query(run: Command) -> None:
    query = "select year::int as year, age::int as age from 'people.csv'"
    asked = ("release", "--sql", query, "-c", "age", "-q", "median", "-e", "1")
    done = run(*asked, "--by", "year", "--keys", "2024,1066")
    assert [group["key"] for group in json.loads(done.out)["groups"]] == [[2024], [1066]]
    refused = run(*asked, "--by", "year", "--keys", "2024,never")
    assert refused.code == 2
    assert "keys must be of type int like the column 'year', got 'never'" in refused.err


@pytest.mark.usefixtures("people")
def test_a_dry_run_says_what_units_cost(run: Command) -> None:
    unit = ("--unit", "person", "--max-rows-per-unit", "3", "--neighbors", "add-remove")
    done = run(*BASE, *unit, "--by", "county", "--keys", "Kent", "--dry-run", "--type", "int")
    assert done.code == 0
    assert "all records of any one person" in done.out
    assert "nothing was released" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "county"), "keys must be given with --by"),
        (("--by", "conty", "--keys", "Kent"), "did you mean 'county'?"),
        (("--by", "county", "--keys", "nosuch.csv"), "no such file: 'nosuch.csv'"),
        (("--by", "year", "--keys", "counties.csv"), "has no column 'year'"),
        (("--by", "county", "--keys", "Kent,Kent"), "keys must name each group once, got 'Kent'"),
        (("--by", "county", "--keys", "private"), "--keys private needs --neighbors add-remove"),
        (("--keys", "Kent"), "keys needs --by"),
        (("--unit", "persn"), "did you mean 'person'?"),
        (("--max-rows-per-unit", "2"), "--max-rows-per-unit needs unit"),
        (("--unit", "person", "--max-rows-per-unit", "x"), "must be a whole number, got 'x'"),
        (
            ("--unit", "person", "--max-rows-per-unit", "2"),
            "--max-rows-per-unit 2 needs --neighbors add-remove",
        ),
    ],
)
@pytest.mark.usefixtures("people")
def test_what_cannot_be_done_is_said(run: Command, options: tuple[str, ...], message: str) -> None:
    done = run(*BASE, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.fixture
def ledger(run: Command, people: Path) -> dpq.Ledger:
    path = people / "budget.db"
    assert run("ledger", "create", path, "--epsilon", "20").code == 0
    return dpq.Ledger(path)


CHARGED = (*BASE, "--ledger", "budget.db", "--dataset", "people", "--request-id", "march")
KENT = ("--by", "county", "--keys", "Kent")


@pytest.mark.parametrize("stated", [(), ("--type", "int")], ids=["cells", "stated"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "county"), "keys must be given with --by"),
        (("--by", "conty", "--keys", "Kent"), "did you mean 'county'?"),
        (("--by", "county", "--keys", "nosuch.csv"), "no such file: 'nosuch.csv'"),
        (("--by", "year", "--keys", "counties.csv"), "has no column 'year'"),
        (("--by", "county", "--keys", "Kent,Kent"), "keys must name each group once, got 'Kent'"),
        (("--unit", "persn"), "did you mean 'person'?"),
        ((*KENT, "--size", "9"), "size must be left out under swap neighbors"),
    ],
)
def test_wrong_groups_and_units_cost_nothing(
    run: Command,
    ledger: dpq.Ledger,
    options: tuple[str, ...],
    message: str,
    stated: tuple[str, ...],
) -> None:
    done = run(*CHARGED, *stated, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(ledger) == 1


@pytest.mark.parametrize(
    "options",
    [("-e", "1e-12"), ("-e", "1e-12", *KENT), ("-e", "1e-12", "--unit", "person")],
    ids=["column", "groups", "units"],
)
def test_what_cannot_be_drawn_costs_nothing(
    run: Command, ledger: dpq.Ledger, options: tuple[str, ...]
) -> None:
    done = run(*CHARGED, "--type", "int", "--neighbors", "add-remove", *options)
    assert done.code == 2
    assert "epsilon" in done.err
    assert len(ledger) == 1


def test_what_another_mechanism_can_draw_is_charged(run: Command, ledger: dpq.Ledger) -> None:
    """joint_exp would refuse so many quantiles; the choice is made before the draw is checked."""
    many = ",".join(str(k / 1601) for k in range(1, 1601))
    done = run(*CHARGED, "--type", "float", *KENT, "-q", many)
    assert done.code == 0
    warning = "warning: 1 of 1 groups has so few records (996)"
    assert done.err.splitlines()[1].startswith(warning)
    assert json.loads(done.out)["mechanism"] != "joint_exp"
    assert ledger.spent("people") == 2.0


def test_a_request_id_stands_for_its_groups(run: Command, ledger: dpq.Ledger) -> None:
    asked = (*CHARGED, "--neighbors", "add-remove")
    first = run(*asked, *KENT, "--size", "900")
    assert first.code == 0
    for other in (
        (),
        (*KENT,),
        (*KENT, "--size", "901"),
        (*KENT, "--size", "900", "--unit", "person"),
        ("--by", "county", "--keys", "Kent,Devon", "--size", "900"),
        ("--by", "person", "--keys", "Kent", "--size", "900"),
    ):
        refused = run(*asked, *other)
        assert (refused.code, refused.out) == (2, "")
        assert "was charged before" in refused.err
    Path("people.csv").write_text("county,year,age,person\n", encoding="utf-8")
    assert run(*asked, *KENT, "--size", "900").out == first.out
    assert ledger.spent("people") == 4.0


def test_a_request_id_stands_for_the_keys_in_a_file(run: Command, ledger: dpq.Ledger) -> None:
    asked = (*CHARGED, "--by", "county", "--keys", "counties.csv")
    first = run(*asked)
    assert first.code == 0
    assert run(*asked).out == first.out
    Path("counties.csv").write_text("county\nKent\n", encoding="utf-8")
    assert "differs in its parameters" in run(*asked).err
    assert ledger.guarantee("people") == dpq.PureDP(epsilon=2.0, within=("county",))


@pytest.mark.usefixtures("people")
def test_a_dry_run_tells_no_number_of_rows_of_units(run: Command) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    pd.read_csv("people.csv").to_parquet("people.parquet")
    asked = ("release", "people.parquet", "-c", "age", "-q", "0.5", "-e", "1", "--dry-run")
    assert "3,000 rows" in run(*asked).out
    assert "3,000 records" in run(*asked).out
    told = run(*asked, "--unit", "person")
    assert told.code == 0
    assert "3,000" not in told.out + told.err
    assert "10,000 records" in told.out
