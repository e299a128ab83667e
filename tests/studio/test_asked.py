"""What is asked becomes one job, and the same as a command and as Python."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from dpquantiles.cli import main
from dpquantiles.errors import InvalidValue
from dpquantiles.kinds import named
from dpquantiles.ledger import Ledger
from dpquantiles.results import Release
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.shelf import Shelf
from dpquantiles.studio.studio import Studio
from tests.studio.conftest import ASKED, SECRET, confirm, outcome

MANY = replace(
    ASKED,
    q="0.25,0.5",
    lower="0",
    upper="120",
    resolution="1",
    missing="upper",
    intervals="0.9",
    neighbors="add-remove",
    size="601",
    mechanism="joint_exp",
    dataset="people 2026",
)
GROUPED = replace(ASKED, by="county", keys="Kent\nEssex")
PEOPLE = replace(ASKED, unit="person", rows="2", neighbors="add-remove")
EVERY = pytest.mark.parametrize("asked", [ASKED, MANY, GROUPED, PEOPLE], ids=lambda a: a.q)


@EVERY
def test_an_address_keeps_what_was_asked(asked: Asked) -> None:
    from urllib.parse import parse_qsl

    assert Asked.of(dict(parse_qsl(asked.query))) == asked


@EVERY
def test_the_command_gives_this_very_release_again(
    client: TestClient, studio: Studio, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    confirm(client, asked)
    assert "Released" in outcome(client, asked=asked)
    command = asked.command(studio.shelf.item(asked.data), str(studio.books), "r1")
    assert studio.books is not None
    entries = len(Ledger(studio.books))
    assert main([*shlex.split(command)[1:], "--format", "json", "--quiet"]) == 0
    assert len(Ledger(studio.books)) == entries
    assert capsys.readouterr().out.strip() == client.get("/download/json/r1").text.strip()


@EVERY
def test_the_snippet_runs(studio: Studio, asked: Asked) -> None:
    item = studio.shelf.item(asked.data)
    code = asked.python(item, named("int"), str(studio.books))
    names: dict[str, object] = {}
    exec(code, names)
    assert names["release"].q == asked.quantiles  # type: ignore[attr-defined]


TWO = replace(ASKED, by="county", also="person", keys='Kent, 1\r\n"Essex", 2\n')


def test_two_columns_may_divide_the_table(
    client: TestClient,
    studio: Studio,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "for each of 2 groups" in client.get(f"/release?{TWO.query}&request=r1").text
    confirm(client, TWO)
    assert "Released" in outcome(client, asked=TWO)
    made = client.get("/download/json/r1")
    assert [group["key"] for group in made.json()["groups"]] == [["Kent", "1"], ["Essex", "2"]]
    monkeypatch.chdir(tmp_path)
    command = TWO.command(studio.shelf.item(TWO.data), str(studio.books), "r1")
    saves, runs = command.split(" && ")
    subprocess.run(["sh", "-c", saves], check=True)
    assert main([*shlex.split(runs)[1:], "--format", "json", "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == made.text.strip()
    names: dict[str, object] = {}
    exec(TWO.python(studio.shelf.item(TWO.data), named("int"), None), names)
    assert list(names["release"].keys) == [("Kent", "1"), ("Essex", "2")]  # type: ignore[attr-defined]


def test_snippets_write_dates_and_tables(folder: Path) -> None:
    import datetime as dt

    import duckdb

    days = pl.DataFrame({"day": [dt.date(2024, 1, 1 + k % 28) for k in range(100)]})
    days.write_parquet(folder / "days.parquet")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 2.5::DOUBLE AS price FROM range(50)")
    shelf, names = Shelf(folder), dict[str, object]()
    asked = Asked(data="days.parquet", column="day", lower="2024-01-01", upper="2024-02-01")
    exec(asked.python(shelf.item(asked.data), named("date"), None), names)
    assert isinstance(names["release"], Release)
    table = Asked(data="shop.duckdb: orders", column="price", resolution="0.5")
    exec(table.python(shelf.item(table.data), named("float"), None), names)
    assert main(shlex.split(table.command(shelf.item(table.data), None))[1:]) == 0


def test_keys_are_never_the_name_of_a_file(client: TestClient, folder: Path) -> None:
    secret = folder.parent / "outside" / "secret.csv"
    asked = replace(ASKED, by="county", keys=str(secret))
    confirm(client, asked)
    page = outcome(client, asked=asked)
    assert SECRET not in page
    assert client.get("/download/csv/r1").text.splitlines()[1].startswith(str(secret))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": "much"}, "epsilon must be a positive, finite number, got 'much'"),
        ({"epsilon": "-1"}, "epsilon must be positive"),
        ({"q": "0.5,2"}, "the percentile is p2"),
        ({"q": "0:1:0.0001"}, "at most 1000 quantiles"),
        ({"lower": "0"}, "bounds must be two values"),
        ({"lower": "x", "upper": "y"}, "bounds must be of type int"),
        ({"neighbors": "none"}, "neighbors must be one of"),
        ({"mechanism": "joint"}, "mechanism must be one of"),
        ({"unit": "nobody"}, "unit must name a column"),
        ({"by": "county"}, "keys"),
        ({"by": "county", "also": "person", "keys": "Kent"}, "keys must have 2 parts on each line"),
        ({"by": "county", "also": "county", "keys": "Kent, Kent"}, "by"),
        ({"column": "aeg"}, "has no column 'aeg'; did you mean 'age'?"),
        ({"size": "10"}, "size must be left out under swap neighbors"),
        ({"dataset": "x" * 300}, "dataset must be a printable name"),
    ],
)
def test_a_mistake_gets_a_sentence_and_no_charge(
    client: TestClient, studio: Studio, fields: dict[str, str], message: str
) -> None:
    asked = replace(ASKED, **fields)
    answer = confirm(client, asked)
    said = answer.text if answer.status_code == 409 else outcome(client, asked=asked)
    assert message.replace("'", "&#x27;") in said.replace("'", "&#x27;")
    assert studio.books is not None
    assert len(Ledger(studio.books)) == 1
    if "dataset" not in fields:
        plan = client.get(f"/plan/answer?{asked.query}")
        assert (plan.status_code, "alert" in plan.text) == (200, True)


def test_a_mistake_that_only_a_type_shows_gets_a_sentence(client: TestClient) -> None:
    """The type of a column of a CSV file may be left open; then it shows when Python is written."""
    asked = replace(ASKED, type="", missing="-1e999")
    page = client.get(f"/release?{asked.query}&request=r1")
    assert (page.status_code, "missing must be one of" in page.text) == (200, True)


def test_a_column_must_be_chosen(studio: Studio) -> None:
    with pytest.raises(InvalidValue, match="column must be chosen"):
        Asked(data="people.csv").job(studio.shelf.item("people.csv"))
    with pytest.raises(InvalidValue, match="records must be a whole number"):
        Asked(records="many").forecast(None)
