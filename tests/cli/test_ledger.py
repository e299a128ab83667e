"""`dpquantiles ledger`, and releases that are charged to one."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest

from dpquantiles import Ledger
from dpquantiles.cli import screen
from dpquantiles.ledger import file as ledger_file
from tests.cli.conftest import Command, Run


@pytest.fixture
def budget(run: Command, tmp_path: Path) -> Path:
    path = tmp_path / "budget.db"
    done = run("ledger", "create", path, "--epsilon", 3)
    assert (done.code, done.out) == (0, "")
    assert "epsilon = 3, swap neighbors" in done.err
    return path


@pytest.fixture
def release(run: Command, table: Path, budget: Path) -> Command:
    def call(epsilon: object, *options: object) -> Run:
        charged = ("--ledger", budget, "--dataset", "payroll", "--type", "int")
        return run("release", table, "-c", "change", "-q", "0.5", "-e", epsilon, *charged, *options)

    return call


def test_a_release_is_charged(release: Command, budget: Path) -> None:
    done = release(1)
    assert done.code == 0
    assert "warning" not in done.err
    assert done.json["guarantee"]["epsilon"] == 1.0
    assert Ledger(budget).spent("payroll") == 1.0
    faint = release(0.0625)
    assert faint.err.splitlines()[1].startswith(
        "warning: The answer for 0.5 may lie outside the data"
    )
    assert Ledger(budget).spent("payroll") == 1.0625


def test_a_refused_budget_exits_with_3(release: Command, budget: Path) -> None:
    assert release(2).code == 0
    done = release(2)
    assert (done.code, done.out) == (3, "")
    assert "remaining epsilon = 1 of epsilon = 3" in done.err
    assert Ledger(budget).spent("payroll") == 2.0


def test_a_request_asked_again_gives_the_same_release(release: Command, budget: Path) -> None:
    first, second = release(1, "--request-id", "march"), release(1, "--request-id", "march")
    assert first.out == second.out
    assert Ledger(budget).spent("payroll") == 1.0
    other = release(1, "--request-id", "march", "--bounds", 0, 9)
    assert other.code == 2
    assert "charged before, in entry 2, and differs in its parameters" in other.err


def test_parts_are_charged_side_by_side(release: Command, budget: Path) -> None:
    assert [release(3, "--part", f"half={k}").code for k in range(2)] == [0, 0]
    assert Ledger(budget).spent("payroll") == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--column", "chagne"), "did you mean 'change'?"),
        (("--bounds", "low", "high"), "bounds must be of type int"),
        (("--missing", "uper"), "did you mean 'upper'?"),
        (("--seed", 7), "rng must be left out when a ledger is charged"),
        (("--part", "north"), "part must be written partition=label"),
        (("--ledger", "nowhere.db"), "no ledger at 'nowhere.db'"),
    ],
)
def test_what_can_be_refused_is_refused_before_the_charge(
    release: Command, budget: Path, options: tuple[object, ...], message: str
) -> None:
    done = release(1, *options)
    assert done.code == 2
    assert message in done.err
    assert len(Ledger(budget)) == 1


def test_an_error_after_the_charge_says_so(run: Command, table: Path, budget: Path) -> None:
    options = ("--ledger", budget, "--dataset", "payroll", "--request-id", "march")
    done = run("release", table, "-c", "name", "-q", "0.5", "-e", 1, *options)
    assert done.code == 2
    assert "was charged, but nothing was released" in done.err
    assert "'march' runs again without another charge" in done.err


def test_names_need_a_ledger(run: Command, table: Path) -> None:
    for option in ("--dataset", "--part", "--request-id"):
        done = run("release", table, "-c", "change", "-q", "0.5", "-e", 1, option, "x=y")
        assert done.code == 2
        assert "must be given together with --ledger" in done.err


def test_a_ledger_needs_a_data_set(run: Command, table: Path, budget: Path) -> None:
    done = run("release", table, "-c", "change", "-q", "0.5", "-e", 1, "--ledger", budget)
    assert (done.code, "dataset must be given with --ledger" in done.err) == (2, True)


def test_create_never_overwrites(run: Command, budget: Path) -> None:
    before = budget.read_bytes()
    done = run("ledger", "create", budget, "--epsilon", 3)
    assert (done.code, "already exists" in done.err) == (2, True)
    assert run("ledger", "create", budget.with_name("x.db")).code == 2
    assert run("ledger", "create", budget.with_name("x.db"), "--rho", "-1").code == 2
    assert budget.read_bytes() == before
    assert not budget.with_name("x.db").exists()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (("--epsilon", 1, "--delta", "1e-6"), "1 (epsilon at delta = 1e-06, swap neighbors)"),
        (("--rho", 0.5), "0.5 (rho, swap neighbors)"),
        (("--epsilon", 1, "--neighbors", "add-remove"), "1 (epsilon, add-remove neighbors)"),
    ],
)
def test_budgets_of_all_kinds(
    run: Command, tmp_path: Path, options: tuple[object, ...], shown: str
) -> None:
    path = tmp_path / "other.db"
    assert run("ledger", "create", path, *options).code == 0
    done = run("ledger", "show", path)
    assert done.out == f"Budget of every data set: {shown}.\nNothing has been charged yet.\n"


def test_show_draws_the_spending(release: Command, run: Command, budget: Path) -> None:
    release(1)
    release(0.5)
    picture = budget.with_name("spending.svg")
    done = run("ledger", "show", budget, "--plot", picture)
    assert done.code == 0
    header, row = done.out.splitlines()[2:4]
    assert header.split() == ["data", "set", "unit", "charges", "spent", "remaining"]
    assert row.split()[:5] == ["payroll", "record", "2", "1.5", "1.5"]
    assert row.split()[5].endswith("▅")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    failed = run("ledger", "show", budget, "--plot", budget / "nowhere.svg")
    assert (failed.code, "cannot write" in failed.err) == (2, True)


def test_pictures_on_a_terminal_without_blocks() -> None:
    assert "▁▂▃▄▅▆▇█●─".translate(screen.ASCII) == "_.:-=+*#*-"


def test_verify(release: Command, run: Command, budget: Path) -> None:
    assert run("ledger", "verify", budget).out.startswith("1 entry checked, none changed; head ")
    release(1)
    done = run("ledger", "verify", budget)
    head = done.out.split()[-1]
    assert (done.code, done.out) == (0, f"3 entries checked, none changed; head {head}\n")
    release(1)
    assert run("ledger", "verify", budget, "--head", head).code == 0
    other = run("ledger", "verify", budget, "--head", "0" * 64)
    assert (other.code, "history was rewritten" in other.err) == (1, True)
    whole = bytearray(budget.read_bytes())
    whole[20_000] ^= 4
    budget.write_bytes(whole)
    tampered = run("ledger", "verify", budget)
    assert (tampered.code, tampered.out) == (1, "")
    assert "corrupt or was edited" in tampered.err


def test_verify_looks_at_the_log_before_it_is_cleared(run: Command, budget: Path) -> None:
    ledger_file.log_of(budget).write_bytes(b"x" * 100)
    done = run("ledger", "verify", budget)
    assert (done.code, "unfinished write" in done.err) == (1, True)


def test_export(release: Command, run: Command, budget: Path) -> None:
    release(1)
    plain = json.loads(run("ledger", "export", budget).out)
    assert [entry["action"] for entry in plain["entries"]] == ["budget", "charge", "release"]
    rows = list(csv.DictReader(io.StringIO(run("ledger", "export", budget, "--format", "csv").out)))
    assert [row["dataset"] for row in rows] == ["", "payroll", ""]
    assert "did you mean 'json'" in run("ledger", "export", budget, "--format", "jsn").err


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_files_that_are_not_ledgers(run: Command, table: Path, command: str) -> None:
    before = table.read_bytes()
    done = run("ledger", command, table)
    assert done.code == (1 if command == "verify" else 2)
    assert "it is not a ledger" in done.err
    assert run("ledger", command, "nowhere.db").code == 2
    assert table.read_bytes() == before


def test_a_dry_run_says_what_remains(release: Command, budget: Path) -> None:
    assert release(2).code == 0
    enough, too_much = release(1, "--dry-run"), release("1.5", "--dry-run")
    assert (enough.code, too_much.code) == (0, 0)
    remains = "Budget:  epsilon = 1 remains of epsilon = 3"
    assert f"{remains}\n" in enough.out
    assert f"{remains}; a new request of this cost would be refused\n" in too_much.out
    north = release("1.5", "--dry-run", "--part", "region=north")
    assert "would be refused" in north.out
    assert "would be refused" in release(1, "--dry-run", "--delta", "1e-6").out
    assert "epsilon = 3 remains" in release(3, "--dry-run", "--dataset", "survey").out
    assert len(Ledger(budget)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ledger", "nowhere.db"), "no ledger at 'nowhere.db'"),
        (("--dataset", ""), "dataset must be a printable name"),
        (("--part", "north"), "part must be written partition=label"),
    ],
)
def test_a_dry_run_refuses_what_a_release_would(
    release: Command, options: tuple[object, ...], message: str
) -> None:
    done = release(1, "--dry-run", *options)
    assert done.code == 2
    assert message in done.err


def test_a_request_is_not_repeated_for_another_file(
    run: Command, release: Command, table: Path, budget: Path
) -> None:
    first = release(1, "--request-id", "march")
    other = table.with_name("other.csv")
    other.write_text(table.read_text())
    charged = ("--ledger", budget, "--dataset", "payroll", "--type", "int", "--request-id", "march")
    done = run("release", other, "-c", "change", "-q", "0.5", "-e", 1, *charged)
    assert (done.code, done.out) == (2, "")
    assert "'march' was charged before" in done.err
    assert release(1, "--request-id", "march").out == first.out


def test_a_request_is_not_repeated_for_another_database(
    run: Command, budget: Path, tmp_path: Path
) -> None:
    places = [tmp_path / name for name in ("first.duckdb", "second.duckdb")]
    for place in places:
        with duckdb.connect(str(place)) as connection:
            connection.execute("CREATE TABLE pay AS SELECT range AS v FROM range(100)")
    charged = ("--ledger", budget, "--dataset", "payroll", "--request-id", "march")
    asked = ("--sql", "SELECT v FROM pay", "-c", "v", "-q", "0.5", "-e", 1, *charged)
    first = run("release", "--database", places[0], *asked)
    assert first.code == 0
    done = run("release", "--database", places[1], *asked)
    assert (done.code, done.out) == (2, "")
    assert "'march' was charged before" in done.err
    assert run("release", "--database", places[0], *asked).out == first.out
