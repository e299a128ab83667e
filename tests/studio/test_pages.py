"""The pages: public things only, one charge for one request, and a sentence for what goes wrong."""

import json
import re
import threading
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from dpquantiles.errors import ReleaseFailed
from dpquantiles.job import Job
from dpquantiles.ledger import Ledger
from dpquantiles.results import Release
from dpquantiles.run import run
from dpquantiles.studio import releases
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.shelf import Shelf
from dpquantiles.studio.studio import Studio
from tests.studio.conftest import ASKED, OWN, SECRET, confirm, let_in, outcome, text_of


def actions(books: Path) -> list[str]:
    return [entry.content["action"] for entry in Ledger(books).entries()]


def test_choosing_shows_names_and_types_and_no_record(client: TestClient, folder: Path) -> None:
    pl.DataFrame({"pay": [73219.5], "name": ["Jane"]}).write_parquet(folder / "pay.parquet")
    first = text_of(client.get("/").text)
    assert "people.csv" in first
    page = client.get("/", params={"data": "pay.parquet"}).text
    assert "float" in page
    assert "text" in page
    assert SECRET not in page
    assert "Jane" not in page
    assert 'href="/plan?data=pay.parquet&amp;column=pay"' in page
    assert "column=name" not in page  # a column of text cannot be chosen


def test_a_plan_needs_no_data(client: TestClient) -> None:
    page = client.get("/plan/answer", params={"records": "5000", "q": "median"}).text
    text = text_of(page)
    assert "of 5,000 records" in text
    assert "auto chooses joint_exp" in text
    assert "epsilon = 1" in text
    assert page.count("<svg") >= 2


def settled(client: TestClient, query: str) -> str:
    """The answer of a plan, when its estimates are done."""
    for _ in range(1200):
        page = client.get(f"/plan/answer?{query}").text
        if "data-again" not in page:
            return page
        time.sleep(0.05)
    raise AssertionError("the estimate does not end")


def test_a_plan_tells_what_a_release_states(client: TestClient, folder: Path) -> None:
    pl.DataFrame({"x": range(2000)}).write_parquet(folder / "x.parquet")
    asked = Asked(data="x.parquet", column="x", q="median", epsilon="0.1", lower="0", upper="9999")
    page = text_of(settled(client, asked.query))
    confirm(client, asked)
    outcome(client, asked=asked)
    stated = client.get("/download/json/r1").json()["provenance"]["expected"]
    told = re.search(r"by about ([\d.]+) of 2,000 records.* by at most ([\d.]+),", page)
    assert told
    shown = [float(f"{float(error):.2g}") for error in told.groups()]
    assert shown == [stated["rank_errors"][0], stated["rank_errors_95"][0]]
    assert "95 of 100 releases" in page
    assert "In values" in page


def test_a_plan_of_few_records_warns(client: TestClient, folder: Path) -> None:
    pl.DataFrame({"x": range(30)}).write_parquet(folder / "x.parquet")
    asked = Asked(data="x.parquet", column="x", epsilon="0.01", lower="0", upper="1000000")
    page = text_of(settled(client, asked.query))
    confirm(client, asked)
    outcome(client, asked=asked)
    warnings = client.get("/download/json/r1").json()["provenance"]["warnings"]
    assert warnings
    assert " ".join(warnings) in page


def test_all_mechanisms_can_be_compared_and_the_estimate_be_stopped(client: TestClient) -> None:
    query = "records=1000&q=median&lower=0&upper=100"
    text = text_of(settled(client, f"{query}&compare=1"))
    assert "Rank errors by mechanism" in text
    assert "ind_exp" in text
    assert "Stopped" in client.get(f"/plan/answer?{query}&epsilon=0.3&stopped=1").text


def test_a_review_reads_and_charges_nothing(client: TestClient, books: Path) -> None:
    first = client.get(f"/release?{ASKED.query}")
    assert first.status_code == 303
    assert "request=" in first.headers["location"]
    text = text_of(client.get(first.headers["location"]).text)
    assert "Whatever any one record holds" in text
    assert "Release, and spend epsilon = 1" in text
    assert "epsilon = 3 remains of epsilon = 3" in text
    assert "dpquantiles release" in text
    assert actions(books) == ["budget"]


def test_the_whole_way(client: TestClient, books: Path) -> None:
    answer = confirm(client)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/release/r1?{ASKED.query}")
    page = outcome(client)
    assert "half of the records are" in text_of(page)
    assert "epsilon = 2 remains of epsilon = 3" in text_of(page)
    assert actions(books) == ["budget", "charge", "release"]
    made = Release.from_dict(client.get("/download/json/r1").json())
    assert client.get("/download/csv/r1").text == f"q,value\n0.5,{made.value}\n"
    report = client.get("/download/html/r1")
    assert "attachment" in report.headers["content-disposition"]
    assert "What is protected" in report.text
    assert client.get("/download/svg/r1").text.startswith("<svg")
    assert client.get("/download/exe/r1").status_code == 404
    assert client.get("/download/json/other").status_code == 404


def test_one_request_is_charged_once(client: TestClient, studio: Studio, books: Path) -> None:
    other = let_in(studio)
    with_two_hands = [
        threading.Thread(target=confirm, args=(one,)) for one in (client, other, client, other)
    ]
    for hand in with_two_hands:
        hand.start()
    for hand in with_two_hands:
        hand.join()
    outcome(client)
    first = client.get("/download/json/r1").text
    confirm(other)
    outcome(other)
    assert other.get("/download/json/r1").text == first
    assert actions(books).count("charge") == 1
    assert actions(books).count("release") == 1


def test_without_a_ledger_a_request_is_drawn_once(folder: Path) -> None:
    studio = Studio(Shelf(folder))
    try:
        client = let_in(studio)
        assert "nothing adds up" in client.get(f"/release?{ASKED.query}&request=r1").text
        confirm(client)
        assert "Released" in outcome(client)
        first = client.get("/download/json/r1").text
        confirm(client)
        outcome(client)
        assert client.get("/download/json/r1").text == first
        assert "No ledger is open" in client.get("/books").text
        assert client.get("/books/export/json").status_code == 404
        assert "No ledger" in client.post("/books/verify", headers=OWN).text
        assert "knows no such release" in outcome(client, "r2")
    finally:
        studio.estimates.close()


def test_another_question_under_the_same_name_is_refused(client: TestClient, books: Path) -> None:
    confirm(client)
    outcome(client)
    other = replace(ASKED, q="quartiles")
    twin = confirm(client, other)
    assert (twin.status_code, "made with a different question" in twin.text) == (409, True)
    page = outcome(client, asked=other)
    assert "half of the records are" in text_of(page)
    assert "-q median" in text_of(page)
    assert "quartiles" not in text_of(page)
    assert actions(books).count("charge") == 1


@pytest.mark.parametrize("request_id", ["2026/q1", "r1/json", "a?b=c#d", "50%", "é ü", "<b>"])
def test_a_request_id_may_have_any_characters(
    client: TestClient, studio: Studio, request_id: str
) -> None:
    """The command line takes any printable name, and its releases are in the books."""
    job = studio.job(ASKED, request_id)
    run(job)
    (address,) = {href for href in hrefs(client.get("/books").text) if href.startswith("/release/")}
    page = client.get(address).text
    assert "Released" in page
    for href in hrefs(page):
        if href.startswith("/download/"):
            assert client.get(href).status_code == 200
    sent = confirm(client, request=request_id).headers["location"]
    assert sent == f"{address}?{ASKED.query}"
    assert "Released" in outcome(client, address.removeprefix("/release/"))


def hrefs(page: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'href="([^"]*)"', page)]


def test_names_cannot_hide_or_turn_other_words(client: TestClient, folder: Path) -> None:
    name = "pay\u202e\u2066\x1b[31m\x00<b>"
    pl.DataFrame({name: [1, 2, 3]}).write_parquet(folder / "odd.parquet")
    asked = Asked(data="odd.parquet", column=name, q="median", lower="0", upper="5")
    pages = [client.get("/", params={"data": "odd.parquet"}).text]
    pages += [client.get(f"{at}?{asked.query}&request=r1").text for at in ("/plan", "/release")]
    confirm(client, asked)
    pages.append(outcome(client, asked=asked))
    assert "Released" in pages[-1]
    for page in pages:
        words = unescape(re.sub(r"<[^>]*>", "", page))
        assert "pay\ufffd\ufffd" in words
        assert not set(words) & set("\u202e\u2066\x1b\x00")


def test_a_budget_that_does_not_fit_is_refused(client: TestClient, books: Path) -> None:
    asked = replace(ASKED, epsilon="3.5")
    review = text_of(client.get(f"/release?{asked.query}&request=r1").text)
    assert "The budget does not allow it" in review
    assert "Release, and spend" not in review
    plan = text_of(client.get(f"/plan/answer?{asked.query}").text)
    assert "the release would be refused" in plan
    confirm(client, asked)
    assert "does not allow epsilon = 3.5" in text_of(outcome(client, asked=asked))
    assert actions(books) == ["budget"]


def test_a_file_that_vanishes_gets_a_sentence(
    client: TestClient, folder: Path, books: Path
) -> None:
    (folder / "people.csv").unlink()
    for page in ("/", "/plan", "/plan/answer", "/release"):
        answer = client.get(f"{page}?{ASKED.query}&request=r1")
        assert answer.status_code == 200
        assert "is not there, or no longer" in answer.text
    assert "not there" in confirm(client).text
    assert actions(books) == ["budget"]


def test_a_file_that_changes_gets_a_sentence(client: TestClient, folder: Path, books: Path) -> None:
    (folder / "people.csv").write_text(f"other\n{SECRET}\n")
    for page in ("/plan/answer", "/release"):
        shown = client.get(f"{page}?{ASKED.query}&request=r1").text
        assert "has no column" in shown
        assert SECRET not in shown
    confirm(client)
    assert "has no column" in outcome(client)
    assert actions(books) == ["budget"]


def test_a_column_of_text_gets_a_sentence(client: TestClient, folder: Path, books: Path) -> None:
    pl.DataFrame({"name": ["Jane"]}).write_parquet(folder / "n.parquet")
    asked = Asked(data="n.parquet", column="name")
    for page in (f"/plan/answer?{asked.query}", f"/release?{asked.query}&request=r1"):
        shown = client.get(page).text
        assert "text" in text_of(shown)
        assert "alert" in shown
        assert "Jane" not in shown
    confirm(client, asked)
    assert "There is no release" in outcome(client, asked=asked)
    assert actions(books) == ["budget"]


def test_a_damaged_file_gets_a_sentence(client: TestClient, folder: Path) -> None:
    (folder / "bad.parquet").write_bytes(b"PAR1" + SECRET.encode() * 9)
    (folder / "bad.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + SECRET.encode() * 99)
    page = client.get("/", params={"data": "bad.parquet"})
    assert page.status_code == 200
    assert "cannot be read as a table" in page.text
    assert SECRET not in page.text


BEFORE = ("/", "/plan", "/plan/answer", "/release")
"""The pages that people see before they release something."""


def before_the_release(client: TestClient, asked: Asked) -> list[str]:
    pages = [client.get(f"{page}?{asked.query}&request=r1") for page in BEFORE]
    settled(client, asked.query)
    pages += [client.get(f"{page}?{asked.query}&request=r1") for page in BEFORE]
    assert {page.status_code for page in pages} == {200}
    return [page.text for page in pages[len(BEFORE) :]]


@pytest.mark.parametrize(
    "asked",
    [
        Asked(data="x.parquet", column="x", q="median", lower="0", upper="9"),
        Asked(data="x.parquet", column="x", q="median", by="g", keys="a\nb"),
        Asked(data="x.parquet", column="x", q="median", neighbors="add-remove"),
        Asked(data="x.parquet", column="x", q="median", unit="u"),
        Asked(data="x.csv", column="x", q="median"),
        Asked(data="x.csv", column="x", q="median", type="int", lower="0", upper="9"),
        Asked(data="shop.duckdb: x", column="x", q="median"),
    ],
    ids=["bounds", "groups", "add-remove", "units", "csv", "typed csv", "table"],
)
def test_no_record_changes_a_page_before_the_release(
    client: TestClient, folder: Path, asked: Asked
) -> None:
    """Not its value, its group or its owner; and not its presence, where that is protected."""
    import duckdb

    first = pl.DataFrame({"x": [1, 2, 3, 4], "g": ["a", "b", "a", "b"], "u": [1, 1, 2, 3]})
    other = pl.DataFrame({"x": [1, 2, 3, 10**15], "g": ["a", "b", "a", "z"], "u": [1, 1, 2, 9]})
    counted = asked.neighbors == "swap" and asked.data == "x.parquet" and not asked.unit
    shown = []
    for frame in (first, other if counted else pl.concat([other, other, other])):
        frame.write_parquet(folder / "x.parquet")
        frame.write_csv(folder / "x.csv")
        with duckdb.connect(str(folder / "shop.duckdb")) as connection:
            connection.execute("CREATE OR REPLACE TABLE x AS SELECT * FROM frame")
        shown.append(before_the_release(client, asked))
    assert shown[0] == shown[1]


def failing(_: object, __: object = None) -> Release:
    raise RuntimeError(f"record {SECRET}")


def test_errors_quote_no_data(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "run", failing)
    confirm(client)
    page = outcome(client)
    assert "unexpected error (RuntimeError)" in page
    assert SECRET not in page
    monkeypatch.setattr("dpquantiles.studio.app.books_page", failing)
    careless = TestClient(client.app, base_url=str(client.base_url), raise_server_exceptions=False)
    careless.cookies = client.cookies
    answer = careless.get("/books")
    assert answer.status_code == 500
    assert SECRET not in answer.text


def test_an_address_that_leads_nowhere_gets_a_page_with_the_steps(client: TestClient) -> None:
    for address in ("/nowhere", "/download/exe/r1", "/static/app.py", "/books/export/exe"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "There is no such page" in answer.text
        assert 'href="/books"' in answer.text


def test_few_releases_run_at_once(
    client: TestClient, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slow(_: Job, __: object = None) -> Release:
        go.wait(20)
        raise ReleaseFailed("ended")

    monkeypatch.setattr(releases, "run", slow)
    codes = [confirm(client, request=f"r{k}").status_code for k in range(5)]
    page = client.get("/release/r0").text
    go.set()
    assert codes == [303] * releases.MOST_AT_ONCE + [409] * (5 - releases.MOST_AT_ONCE)
    assert "being made" in page
    assert 'http-equiv="refresh"' in page
    assert "ended" in outcome(client, "r0")
    assert actions(books) == ["budget"]


def test_a_studio_that_was_ended_loses_nothing(studio: Studio, folder: Path, books: Path) -> None:
    confirm(let_in(studio))
    outcome(let_in(studio))
    made = let_in(studio).get("/download/json/r1").json()
    later = Studio(Shelf(folder), books)
    try:
        client = let_in(later)
        assert "Released" in client.get("/release/r1").text
        assert client.get("/download/json/r1").json() == made
        confirm(client)
        assert client.get("/download/json/r1").json() == made
        assert actions(books).count("charge") == 1
    finally:
        later.estimates.close()


def test_a_charge_without_a_release_is_made_good(
    studio: Studio, folder: Path, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A studio that dies between the charge and the record: the next one draws, free of charge."""

    def dies(*_: object) -> Release:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("dpquantiles.run._read_and_draw", dies)
        confirm(let_in(studio))
        outcome(let_in(studio))
    assert actions(books) == ["budget", "charge"]
    later = Studio(Shelf(folder), books)
    try:
        client = let_in(later)
        page = client.get(f"/release/r1?{ASKED.query}").text
        assert "charged, but the studio was ended before it was released" in page
        assert "Make it now, without another charge" in page
        from_the_books = client.get("/release/r1").text
        assert "the same question with the same request id" in from_the_books
        assert "make it now" not in from_the_books.lower()
        confirm(client)
        assert "Released" in outcome(client)
        assert actions(books) == ["budget", "charge", "retry", "release"]
    finally:
        later.estimates.close()


def test_books_are_shown_verified_and_exported(client: TestClient, books: Path) -> None:
    assert "Nothing has been charged yet" in client.get("/books").text
    confirm(client)
    outcome(client)
    page = client.get("/books").text
    assert "people" in text_of(page)
    assert 'href="/release/r1"' in page
    head = Ledger(books).head
    good = client.post("/books/verify", data={"head": head}, headers=OWN).text
    assert f"3 entries checked, none changed; head {head}" in text_of(good)
    bad = client.post("/books/verify", data={"head": "f" * 64}, headers=OWN).text
    assert "its history was rewritten" in bad
    assert client.get("/books/export/json").json() == json.loads(Ledger(books).to_json())
    assert client.get("/books/export/csv").text == Ledger(books).to_csv()


def test_a_tampered_ledger_is_found_and_not_charged(client: TestClient, books: Path) -> None:
    confirm(client)
    outcome(client)
    Ledger(books).verify()
    edited = bytearray(books.read_bytes())
    place = edited.rindex(b"people")
    edited[place : place + 6] = b"pebble"
    books.write_bytes(edited)
    assert "corrupt or was edited" in client.post("/books/verify", headers=OWN).text
    assert "corrupt or was edited" in client.get("/books").text
    assert "corrupt or was edited" in client.get(f"/plan?{ASKED.query}").text
    assert "corrupt or was edited" in confirm(client, request="r2").text
