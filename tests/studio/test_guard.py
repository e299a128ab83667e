"""Attacks on the studio: strangers, foreign sites, and too much of everything."""

import re
import time
from collections.abc import Iterator
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dpquantiles.ledger import Ledger
from dpquantiles.studio import guard
from dpquantiles.studio.app import application
from dpquantiles.studio.guard import own_hosts
from dpquantiles.studio.shelf import Shelf
from dpquantiles.studio.studio import Studio
from tests.studio.conftest import ASKED, BASE, OWN, confirm, let_in, outcome, stranger

PAGES = [
    "/",
    "/?data=people.csv",
    "/plan",
    f"/plan?{ASKED.query}",
    f"/plan/answer?{ASKED.query}",
    f"/release?{ASKED.query}&request=r1",
    "/release/r1",
    "/download/json/r1",
    "/books",
    "/books/export/json",
    "/invite",
    "/static/studio.css",
]
POSTS = ["/release", "/books/verify", "/plan/cancel", "/invite"]


def charges(books: Path) -> int:
    return sum("cost" in entry.content for entry in Ledger(books).entries())


@pytest.mark.parametrize("page", [*PAGES, "/?token=guess", "/plan?token=", "/nowhere"])
def test_a_stranger_sees_nothing(studio: Studio, page: str) -> None:
    answer = stranger(studio).get(page)
    assert answer.status_code == 403
    assert "people" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("page", POSTS)
def test_a_stranger_changes_nothing(studio: Studio, books: Path, page: str) -> None:
    form = {**asdict(ASKED), "request": "r1"}
    assert stranger(studio).post(page, data=form, headers=OWN).status_code == 403
    assert charges(books) == 0


def test_a_token_works_once(studio: Studio) -> None:
    token = studio.keys.token()
    first = stranger(studio).get("/", params={"token": token, "data": "people.csv"})
    assert (first.status_code, first.headers["location"]) == (303, "/?data=people.csv")
    kept = first.headers["set-cookie"].lower()
    assert "httponly" in kept
    assert "samesite=strict" in kept
    assert token not in kept
    assert stranger(studio).get("/", params={"token": token}).status_code == 403


def test_each_invitation_lets_one_more_browser_in(client: TestClient, studio: Studio) -> None:
    page = client.post("/invite", headers=OWN).text
    found = re.search(r"http://127.0.0.1:8317(/\?token=[\w-]+)", page)
    assert found
    assert stranger(studio).get(found[1]).status_code == 303
    assert stranger(studio).get(found[1]).status_code == 403


def test_the_cookie_of_another_studio_opens_nothing(studio: Studio, folder: Path) -> None:
    other = Studio(Shelf(folder))
    try:
        cookies = dict(let_in(other).cookies)
    finally:
        other.estimates.close()
    answer = stranger(studio).get("/", headers={"cookie": f"{next(iter(cookies))}=x"})
    assert answer.status_code == 403
    pair = "; ".join(f"{name}={value}" for name, value in cookies.items())
    assert stranger(studio).get("/", headers={"cookie": pair}).status_code == 403
    assert stranger(studio).get("/", headers={"cookie": "a[]=\x7f; ;;="}).status_code == 403


@pytest.mark.parametrize("other", ['seen={"a": 1}', "a[]=1", "=;;", "x=\x7f", 'q="'])
def test_cookies_of_other_servers_on_this_computer_do_not_matter(
    client: TestClient, other: str
) -> None:
    """Browsers send the cookies of all ports of a host."""
    (pair,) = client.cookies.items()
    for cookies in (f"{other}; {'='.join(pair)}", f"{'='.join(pair)}; {other}"):
        assert client.get("/", headers={"cookie": cookies}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8317", "127.0.0.1:80", "127.0.0.1", "127.0.0.1.evil:8317"),
        *("localhost.:8317", "127.0.0.1.:8317", "[::1]", "[::ffff:127.0.0.1]:8317", "0.0.0.0:8317"),
        *("2130706433:8317", "127.1:8317", "127.0.0.1:08317", "127.0.0.1:8317@evil.example", ""),
    ],
)
def test_another_name_for_this_computer_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "people" not in answer.text


@pytest.mark.parametrize("host", ["localhost:8317", "[::1]:8317", "LOCALHOST:8317"])
def test_own_names_are_fine(client: TestClient, host: str) -> None:
    (pair,) = client.cookies.items()
    answer = client.get("/", headers={"host": host, "cookie": "=".join(pair)})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8317"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("page", POSTS)
def test_a_post_of_another_site_is_refused(
    client: TestClient, books: Path, page: str, headers: dict[str, str]
) -> None:
    form = {**asdict(ASKED), "request": "r1"}
    assert client.post(page, data=form, headers=headers).status_code == 403
    assert charges(books) == 0


@pytest.mark.parametrize("page", PAGES[1:])
def test_another_site_cannot_read_a_page(client: TestClient, page: str) -> None:
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        if page.startswith("/?") and "origin" not in headers:
            continue  # the first page may be opened from anywhere; the cookie does not come along
        answer = client.get(page, headers=headers)
        assert answer.status_code == 403
    assert "access-control-allow-origin" not in client.get(page).headers


def test_a_large_body_is_refused(client: TestClient, books: Path) -> None:
    size = guard.LARGEST_BODY + 1
    assert client.post("/release", content=b"x" * size, headers=OWN).status_code == 413

    def drops() -> Iterator[bytes]:
        for _ in range(size // 1000 + 1):
            yield b"request=r1&" + b"x" * 989

    assert client.post("/release", content=drops(), headers=OWN).status_code == 413
    lie = {**OWN, "content-length": "-1"}
    assert client.post("/release", content=b"", headers=lie).status_code == 413
    assert charges(books) == 0


def test_a_long_address_and_many_fields_are_refused(client: TestClient, books: Path) -> None:
    assert client.get("/plan", params={"q": "x" * guard.LARGEST_ADDRESS}).status_code == 414
    many = "&".join(f"f{k}=1" for k in range(5000))
    body = f"request=r1&{many}"
    assert client.post("/release", content=body, headers=OWN).status_code == 409
    assert charges(books) == 0


def test_requests_are_limited_in_number(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "PERIOD", 1e9)  # however slow the computer is
    for _ in range(guard.MOST_REQUESTS):
        last = client.get("/static/studio.css").status_code
    assert last in (200, 503)
    codes = {client.get("/static/studio.css").status_code for _ in range(5)}
    assert codes == {503}
    monkeypatch.setattr(time, "monotonic", lambda: 1e12)
    assert client.get("/static/studio.css").status_code == 200


def test_strangers_cannot_use_up_the_number(client: TestClient, studio: Studio) -> None:
    """A page of another site may load the first page as a picture, as often as it likes."""
    other = stranger(studio)
    for _ in range(guard.MOST_REQUESTS + 5):
        assert other.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/").status_code == 200


def test_on_the_port_of_the_web_browsers_name_no_port(studio: Studio) -> None:
    app = application(studio, own_hosts("127.0.0.1", 80), "dpquantiles-studio-80")
    web = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
    assert web.get("/", params={"token": studio.keys.token()}).status_code == 303
    origin = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    assert web.post("/invite", headers=origin).status_code == 200
    assert web.get("/", headers={"host": "evil.example"}).status_code == 421


def test_web_sockets_are_closed(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/"):
        pass


@pytest.mark.parametrize("page", [*PAGES, "/nowhere", "/static/../app.py", "/static/app.py"])
def test_every_answer_has_its_policy(client: TestClient, page: str) -> None:
    for headers in ({}, {"host": "evil.example"}):
        answer = client.get(page, headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_pages_have_no_styles_and_no_scripts_inside(client: TestClient) -> None:
    confirm(client)
    outcome(client)
    for page in PAGES[:-1]:
        answer = client.get(page)
        assert answer.status_code == 200, page
        if "attachment" in answer.headers.get("content-disposition", ""):
            continue
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", answer.text), page
        scripts = re.findall(r"<script[^>]*>", answer.text)
        assert all("src=" in script for script in scripts)
        outside = re.findall(r'(?:src|href|action)="(?!/|#|mailto)([^"]*)', answer.text)
        assert outside == []


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"onload="x', "' onclick='x"])
def test_what_is_typed_is_escaped(client: TestClient, name: str) -> None:
    asked = {**asdict(ASKED), "column": name, "dataset": name, "lower": name, "upper": "1"}
    for page in ("/plan", "/plan/answer", "/release"):
        shown = client.get(page, params={**asked, "request": name}).text
        assert "<script>alert" not in shown
        reader = Attributes()
        reader.feed(shown)
        assert not any(name.startswith("on") for name in reader.names)


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.names |= {name for name, _ in attrs}
