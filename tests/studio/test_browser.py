"""The whole way in a real browser: by mouse and by keyboard, on phones and in the dark."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from dpquantiles.ledger import Ledger
from tests.conftest import unavailable
from tests.studio.conftest import SECRET
from tests.studio.served import Served, served

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        unavailable("Chromium", "no chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, and a ledger beside it."""
    root = tmp_path_factory.mktemp("studio")
    (root / "data").mkdir()
    rows = "\n".join(str(20 + k % 60) for k in range(2000))
    (root / "data" / "people.csv").write_text(f"age\n{rows}\n{SECRET}\n")
    Ledger(root / "budget.db", epsilon=20.0)
    return root


@pytest.fixture(scope="module")
def studio(place: Path) -> Iterator[Served]:
    with served(place / "data", place / "budget.db") as running:
        yield running


@pytest.fixture(scope="module")
def let_in(chromium: Browser, studio: Served) -> Any:
    """The cookie of a browser that came by the printed address."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(studio.address)
    expect(page.get_by_role("heading", name="What is it about?")).to_be_visible()
    assert "token" not in page.url
    state = context.storage_state()
    context.close()
    return state


Open = Callable[..., BrowserContext]


@pytest.fixture
def opened(chromium: Browser, studio: Served, let_in: Any) -> Iterator[Open]:
    """Windows of a browser; whatever a page complains about fails the test."""
    contexts, complaints = [], list[str]()

    def window(**options: Any) -> BrowserContext:
        made = chromium.new_context(base_url=studio.base, storage_state=let_in, **options)
        made.on("console", lambda message: complaints.append(message.text))
        made.on("weberror", lambda error: complaints.append(str(error.error)))
        contexts.append(made)
        return made

    yield window
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(opened: Open) -> Page:
    return opened().new_page()


def charges(place: Path) -> int:
    entries = Ledger(place / "budget.db").entries()
    return sum("cost" in entry.content for entry in entries)


PLAN = "/plan?data=people.csv&column=age&type=int&q=median&epsilon=0.1&lower=0&upper=120"
REVIEW = PLAN.replace("/plan", "/release")


def test_from_start_to_a_downloaded_report(page: Page, place: Path, tmp_path: Path) -> None:
    before = charges(place)
    page.goto("/")
    page.get_by_role("link", name="people.csv").click()
    page.get_by_role("link", name="age").click()
    expect(page.get_by_role("heading", name="How far off")).to_be_visible()
    page.get_by_label("Type of the column").select_option("int")
    page.get_by_text("Quartiles", exact=True).click()
    page.get_by_label("About how many records").fill("2001")
    page.get_by_label("Lowest").fill("0")
    page.get_by_label("Highest").fill("120")
    page.get_by_label("Intervals around the answers").select_option("0.95")
    slider = page.get_by_label("Epsilon, from more private")
    slider.fill("9")
    expect(page.locator("#epsilon")).to_have_value("0.5")
    expect(page.locator("#answer")).to_contain_text("It costs epsilon = 0.5")
    expect(page.locator("#answer")).to_contain_text("95 of 100 releases it misses by at most")
    expect(page.locator("#answer svg[role=img]").first).to_be_visible()
    expect(page.locator("#answer")).to_contain_text("auto chooses")
    assert charges(place) == before
    page.get_by_role("link", name="Continue to the release").click()
    expect(page.get_by_text("Whatever any one record holds")).to_be_visible()
    page.get_by_role("button", name="Release, and spend epsilon = 0.5").click()
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    assert charges(place) == before + 1
    pictures = page.locator(".answers > svg")
    for width, class_ in ((390, "narrow"), (1280, "wide")):
        page.set_viewport_size({"width": width, "height": 900})
        shown = [one for one in pictures.all() if one.is_visible()]
        assert [one.get_attribute("class") for one in shown] == [class_]
    files = {}
    for name in ("Report (HTML)", "Table (CSV)", "All of it (JSON)", "Picture (SVG)"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        files[path.suffix] = path.read_text("utf-8")
    assert "What is protected" in files[".html"]
    assert len(files[".csv"].splitlines()) == 4
    assert len(json.loads(files[".json"])["values"]) == 3
    assert files[".svg"].startswith("<svg")
    assert SECRET not in page.content()
    page.get_by_role("link", name="Books").click()
    expect(page.get_by_role("rowheader", name="people")).to_be_visible()
    page.get_by_role("button", name="Verify every byte").click()
    expect(page.get_by_role("alert")).to_contain_text("none changed")


def test_a_picture_follows_the_form(page: Page) -> None:
    page.goto(PLAN)
    answer = page.locator("#answer")
    expect(answer).to_contain_text("epsilon = 0.1")
    page.locator("#epsilon").fill("0.02")
    page.keyboard.press("Tab")
    expect(answer).to_contain_text("It costs epsilon = 0.02")
    expect(page).to_have_url(re.compile("epsilon=0.02"))
    page.locator("#epsilon").fill("nonsense")
    page.keyboard.press("Tab")
    expect(page.get_by_role("status")).to_contain_text("must be a positive, finite number")
    page.reload()
    expect(answer.get_by_role("alert")).to_contain_text("must be a positive, finite number")


def test_a_long_plan_shows_progress_and_can_be_stopped(page: Page) -> None:
    page.goto("/plan?records=1000&q=percentiles&mechanism=joint_exp")
    answer = page.locator("#answer")
    expect(answer.locator("progress")).to_be_visible()
    expect(answer).to_contain_text("First estimate")
    answer.get_by_role("button", name="Stop").click()
    expect(answer).to_contain_text("Stopped")
    page.goto("/plan?records=1000&q=median&lower=0&upper=100")
    expect(answer).to_contain_text("95 of 100 releases it misses")
    page.get_by_role("button", name="Compare all mechanisms").click()
    expect(answer.get_by_role("rowheader", name="ind_exp", exact=True)).to_be_visible()


def test_a_refused_budget(page: Page, place: Path) -> None:
    before = charges(place)
    page.goto(PLAN.replace("epsilon=0.1", "epsilon=50"))
    expect(page.locator("#answer")).to_contain_text("the release would be refused")
    page.get_by_role("link", name="Continue to the release").click()
    expect(page.get_by_role("heading", name="The budget does not allow it")).to_be_visible()
    assert page.get_by_role("button", name=re.compile("Release")).count() == 0
    assert charges(place) == before


def test_a_double_click_and_the_way_back_charge_once(page: Page, place: Path) -> None:
    before = charges(place)
    page.goto(REVIEW)
    page.get_by_role("button", name=re.compile("Release, and spend")).dblclick()
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    shown = page.locator(".lead").inner_text()
    page.go_back()
    page.get_by_role("button", name=re.compile("Release, and spend")).click()
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    assert page.locator(".lead").inner_text() == shown
    assert charges(place) == before + 1


def test_a_reload_during_a_release_charges_once(page: Page, place: Path) -> None:
    before = charges(place)
    rows = "\n".join(str(k % 97) for k in range(400_000))
    (place / "data" / "large.csv").write_text(f"age\n{rows}\n")
    page.goto(REVIEW.replace("people.csv", "large.csv").replace("type=int", "type=decimal"))
    page.get_by_role("button", name=re.compile("Release, and spend")).click(no_wait_after=True)
    for _ in range(3):
        page.wait_for_url(re.compile(r"/release/\w+\?"))
        page.reload()
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    assert charges(place) == before + 1


def test_two_tabs_do_not_disturb_each_other(opened: Open, place: Path) -> None:
    before = charges(place)
    window = opened()
    pages = [window.new_page(), window.new_page()]
    for page, epsilon in zip(pages, ("0.1", "0.2"), strict=True):
        page.goto(REVIEW.replace("epsilon=0.1", f"epsilon={epsilon}"))
    same = window.new_page()
    same.goto(pages[0].url)
    for page in (*pages, same):
        page.get_by_role("button", name=re.compile("Release, and spend")).click(no_wait_after=True)
    for page in (*pages, same):
        expect(page.get_by_role("heading", name="Released")).to_be_visible()
    expect(pages[0].get_by_text("This release spent epsilon = 0.1")).to_be_visible()
    expect(pages[1].get_by_text("This release spent epsilon = 0.2")).to_be_visible()
    assert same.locator(".lead").inner_text() == pages[0].locator(".lead").inner_text()
    assert charges(place) == before + 2


def reach(page: Page, name: str) -> None:
    """Press Tab until the focus is on the control of this name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if not focused.count():
            continue
        said = focused.evaluate(
            "e => e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText"
        )
        if name in (said or ""):
            return
    raise AssertionError(f"{name!r} cannot be reached by keyboard")


def test_by_keyboard_alone(page: Page, place: Path) -> None:
    before = charges(place)
    page.goto("/")
    reach(page, "people.csv")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Quantiles of which column?")).to_be_visible()
    reach(page, "age")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="How far off")).to_be_visible()
    reach(page, "Deciles")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("input[value=median]")).to_be_checked()
    reach(page, "Epsilon, from more private")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#epsilon")).to_have_value("0.3")
    expect(page.locator("#answer")).to_contain_text("It costs epsilon = 0.3")
    reach(page, "Continue to the release")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ready to release?")).to_be_visible()
    reach(page, "Release, and spend")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    assert charges(place) == before + 1


def violations(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[node['html'] for node in one['nodes']]}" for one in found]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1280, "light"),
        pytest.param(390, "light", marks=pytest.mark.slow),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
    ],
)
def test_every_step_is_accessible(opened: Open, width: int, scheme: str, tmp_path: Path) -> None:
    """No violations by axe-core, and nothing wider than the window."""
    size = {"width": width, "height": 900}
    page = opened(viewport=size, color_scheme=scheme, bypass_csp=True).new_page()
    walk = {
        "choose": "/?data=people.csv",
        "plan": f"{PLAN}&records=2001",
        "groups": f"{PLAN}&by=age&neighbors=add-remove&delta=1e-6",
        "problem": f"{PLAN}x",
        "review": REVIEW,
        "refused": REVIEW.replace("epsilon=0.1", "epsilon=50"),
        "books": "/books",
        "invite": "/invite",
    }
    for name, address in walk.items():
        page.goto(address)
        assert check(page, width, name, tmp_path) == []
    page.goto(REVIEW)
    page.get_by_text("The same without the studio").click()
    page.get_by_role("button", name=re.compile("Release, and spend")).click()
    expect(page.get_by_role("heading", name="Released")).to_be_visible()
    for fold in page.locator("summary").all():
        fold.click()
    assert check(page, width, "result", tmp_path) == []


def check(page: Page, width: int, name: str, folder: Path) -> list[str]:
    """What is wrong with a page; DPQUANTILES_SHOTS names a folder to keep pictures of all steps."""
    kept = os.environ.get("DPQUANTILES_SHOTS")
    scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    page.screenshot(path=Path(kept or folder) / f"{name}-{width}-{scheme}.png", full_page=True)
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*violations(page), *([] if wide <= width else [f"{wide} pixels wide"])]
