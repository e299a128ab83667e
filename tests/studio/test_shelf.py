"""No file outside the folder is listed or opened, by any name and through any link."""

import os
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from dpquantiles.errors import InvalidValue
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.shelf import Shelf
from tests.studio.conftest import SECRET, confirm, outcome, text_of


def names(folder: Path) -> list[str]:
    return [item.name for item in Shelf(folder).items()]


TRAVERSALS = [
    "../outside/secret.csv",
    "..%2Foutside%2Fsecret.csv",
    "....//outside/secret.csv",
    "./people.csv",
    "people.csv/../../outside/secret.csv",
    "people.csv\x00",
    "people.csv: x",
    "PEOPLE.CSV/",
    "/etc/passwd",
    "https://example.org/a.csv",
    "SELECT 1 AS age",
    "*.csv",
    "",
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_only_listed_names_are_found(folder: Path, name: str) -> None:
    for given in (name, str(folder.parent / "outside" / "secret.csv")):
        with pytest.raises(InvalidValue, match="not there"):
            Shelf(folder).item(given)


@pytest.mark.parametrize("name", TRAVERSALS[:-1])
def test_a_page_says_so_and_shows_nothing(client: TestClient, name: str) -> None:
    asked = Asked(data=name, column="pay", type="int", q="median")
    for page in ("/", "/plan", "/plan/answer", "/release"):
        shown = client.get(page, params={"data": name, "column": "pay", "request": "r"})
        assert shown.status_code == 200
        assert "is not there, or no longer" in shown.text
        assert SECRET not in shown.text
    assert "not there" in client.get(confirm(client, asked).headers.get("location", "/")).text or (
        "not there" in confirm(client, asked).text
    )


def test_links_that_lead_outside_are_not_there(folder: Path) -> None:
    outside = folder.parent / "outside"
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "folder").symlink_to(outside)
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "gone.csv").symlink_to(folder / "no.csv")
    (folder / "deep").mkdir()
    (folder / "deep" / "own.csv").symlink_to(folder / "people.csv")
    assert names(folder) == ["people.csv", "deep/own.csv"]
    assert Shelf(folder).item("deep/own.csv").path == folder / "people.csv"
    for name in ("link.csv", "folder/secret.csv"):
        with pytest.raises(InvalidValue):
            Shelf(folder).item(name)


def test_a_file_that_becomes_a_link_is_no_longer_there(client: TestClient, folder: Path) -> None:
    assert "age" in client.get("/", params={"data": "people.csv"}).text
    (folder / "people.csv").unlink()
    (folder / "people.csv").symlink_to(folder.parent / "outside" / "secret.csv")
    shown = client.get("/", params={"data": "people.csv"}).text
    assert "pay" not in shown
    assert "not there" in shown


def test_other_things_are_not_listed(folder: Path) -> None:
    for name in (".hidden.csv", "notes.txt", "a*.csv", "b[1].csv", "budget.db", "new\nline.csv"):
        (folder / name).write_text("x\n1\n")
    os.mkfifo(folder / "pipe.csv")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.csv").write_text("x\n1\n")
    assert names(folder) == ["people.csv"]


def test_a_single_file_is_a_shelf(folder: Path) -> None:
    assert names(folder / "people.csv") == ["people.csv"]
    (folder / "other.txt").write_text("x")
    with pytest.raises(InvalidValue, match="must end in"):
        Shelf(folder / "other.txt")
    with pytest.raises(FileNotFoundError, match="no such folder or file"):
        Shelf(folder / "nowhere")
    assert Shelf().items() == []


def test_tables_and_views_of_a_database_are_listed(folder: Path) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute('CREATE TABLE "my ""orders" AS SELECT 1.5 AS price, \'x\' AS name')
        connection.execute('CREATE VIEW cheap AS SELECT price FROM "my ""orders"')
    assert names(folder) == ["people.csv", "shop.duckdb: cheap", 'shop.duckdb: my "orders']
    item = Shelf(folder).item('shop.duckdb: my "orders')
    assert list(item.columns().items())[1] == ("name", "text")
    assert item.dataset == 'my "orders'
    assert not item.is_view
    view = Shelf(folder).item("shop.duckdb: cheap")
    assert (list(view.columns()), view.is_view) == (["price"], True)
    with pytest.raises(InvalidValue):
        Shelf(folder).item("shop.duckdb")


def test_a_view_reads_its_own_database_alone(client: TestClient, folder: Path) -> None:
    outside = folder.parent / "outside" / "secret.csv"
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT range AS price FROM range(100)")
        connection.execute("CREATE VIEW cheap AS SELECT price FROM orders WHERE price < 50")
        connection.execute(f"CREATE VIEW leak AS SELECT * FROM read_csv('{outside}')")
        connection.execute(f"CREATE VIEW text AS SELECT * FROM read_text('{outside}')")
    for view in ("leak", "text"):
        asked = Asked(data=f"shop.duckdb: {view}", column="pay", q="median")
        for page in ("/", "/plan", "/plan/answer", "/release"):
            shown = client.get(f"{page}?{asked.query}&request=r").text
            assert "reads files other than the database" in shown
            assert not any(word in shown for word in (SECRET, "pay ", ">pay<"))
        assert "reads files other" in text_of(outcome_of(client, asked, f"r {view}"))
    cheap = Asked(data="shop.duckdb: cheap", column="price", q="median", lower="0", upper="99")
    assert "what is protected" in client.get(f"/?{cheap.query}").text
    assert "Released" in outcome_of(client, cheap, "r cheap")


def outcome_of(client: TestClient, asked: Asked, request: str) -> str:
    sent = confirm(client, asked, request)
    return outcome(client, request, asked) if sent.status_code == 303 else sent.text
