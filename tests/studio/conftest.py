"""A studio on a small folder, and a browser that was let in."""

import re
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from dpquantiles.ledger import Ledger
from dpquantiles.studio.app import application
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.guard import Guard, own_hosts
from dpquantiles.studio.shelf import Shelf
from dpquantiles.studio.studio import Studio

BASE = "http://127.0.0.1:8317"
OWN = {"origin": BASE, "sec-fetch-site": "same-origin"}
SECRET = "73219"
"""A value of a record; no page may ever show it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data, beside one that is nobody's business."""
    inside, outside = tmp_path / "data", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    rows = [f"{20 + k % 60},{'Kent' if k % 2 else 'Essex'},{k // 3}" for k in range(600)]
    text = "\n".join(["age,county,person", *rows, f"{SECRET},Kent,999", ""])
    (inside / "people.csv").write_text(text)
    (outside / "secret.csv").write_text(f"pay\n{SECRET}\n")
    return inside


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A ledger with a budget of 3."""
    Ledger(tmp_path / "budget.db", epsilon=3.0)
    return tmp_path / "budget.db"


@pytest.fixture
def studio(folder: Path, books: Path) -> Iterator[Studio]:
    made = Studio(Shelf(folder), books)
    yield made
    made.estimates.close()


def guarded(studio: Studio) -> Guard:
    return application(studio, own_hosts("127.0.0.1", 8317), "dpquantiles-studio-8317")


def stranger(studio: Studio) -> TestClient:
    """A browser that was not let in."""
    return TestClient(guarded(studio), base_url=BASE, follow_redirects=False)


def let_in(studio: Studio) -> TestClient:
    """A browser that came by the printed address."""
    client = stranger(studio)
    assert client.get("/", params={"token": studio.keys.token()}).status_code == 303
    return client


@pytest.fixture
def client(studio: Studio) -> TestClient:
    return let_in(studio)


ASKED = Asked(data="people.csv", column="age", type="int", q="median", epsilon="1")


def confirm(client: TestClient, asked: Asked = ASKED, request: str = "r1") -> httpx2.Response:
    """Press the button of the review."""
    form = {**asdict(asked), "request": request}
    return client.post("/release", data=form, headers=OWN)


def outcome(client: TestClient, request: str = "r1", asked: Asked = ASKED) -> str:
    """The page of a release that is over."""
    for _ in range(600):
        page = client.get(f"/release/{request}?{asked.query}").text
        if "is being made" not in page:
            return page
        time.sleep(0.05)
    raise AssertionError("the release does not end")


def text_of(page: str) -> str:
    """The words of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())
