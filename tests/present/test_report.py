"""A report is one file that says what was released, what it protects, and what it cost."""

import datetime as dt
import html
import math
import re
import shutil
import subprocess
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpquantiles as dpq
from dpquantiles.present.releases import markdown
from dpquantiles.present.report import Remains, _suspected, page
from dpquantiles.privacy import ZCDP, ApproxDP, Neighbors, PureDP
from dpquantiles.results import GroupedRelease, Release
from tests.present.releases import EVERY_TYPE, release, with_intervals

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = ("meta",)


class Reader(HTMLParser):
    """The text of a page; tags must be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += f"{data} "


def read(written: str) -> Reader:
    reader = Reader()
    reader.feed(written)
    assert not reader.open
    return reader


@pytest.mark.parametrize("shown", EVERY_TYPE, ids=lambda shown: f"{len(shown)} {shown.type}")
def test_every_type_makes_a_whole_page_that_loads_nothing(shown: Release) -> None:
    written = page(shown)
    reader = read(written)
    assert reader.tags.count("tr") == 1 + len(shown.values)
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    without = written.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not any(word in without for word in ("http", "url(", "@import"))
    for heading in ("What is protected", "How accurate it is", "What it cost", "How it was made"):
        assert heading in reader.text


def test_what_a_manager_reads() -> None:
    text = read(page(release([-26, -5, 52], q=(0.1, 0.5, 0.9)))).text
    assert "About half of the records are -5 or less. About 10% are -26 or less. About" in text
    assert "About 10% are 52 or more." in text
    assert "1% sure of something about one record can become at most 2.68% sure" in text
    assert "50% sure, at most 73.2% sure." in text
    assert "This release spent epsilon = 1" in text
    assert "No ledger was used" in text


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.7, 1.0, 3.3, 8.0])
@pytest.mark.parametrize("before", [0.01, 0.5])
def test_a_suspicion_is_never_said_to_grow_less_than_it_can(epsilon: float, before: float) -> None:
    odds = before / (1 - before) * math.exp(epsilon)
    assert 0 <= _suspected(before, epsilon) - odds / (1 + odds) < 0.0011


def test_other_guarantees_have_their_own_words() -> None:
    add_remove = Neighbors.ADD_REMOVE
    pair = ApproxDP(epsilon=1.0, delta=1e-6, neighbors=add_remove)
    text = read(page(release([1, 2], guarantee=pair))).text
    assert "any single record, even whether it is there at all" in text
    assert "except for a chance of 1e-06" in text
    assert "In numbers" not in page(release([1, 2], guarantee=ZCDP(rho=0.5)))
    assert "In numbers" not in page(release([1, 2], guarantee=PureDP(epsilon=9.0)))
    people = PureDP(epsilon=1.0, neighbors=add_remove, unit="person")
    assert "any single person" in page(release([1, 2], guarantee=people))


def test_without_a_guarantee_the_report_says_so_first() -> None:
    text = read(page(release([1, 2], guarantee=None, note="no privacy guarantee: seeded"))).text
    assert "not private, and must not be published" in text
    assert "No privacy guarantee: seeded." in text
    assert "In numbers" not in text


def test_accuracy_is_what_the_release_states() -> None:
    expected = {"rank_errors": [0.3, 87.0], "rank_errors_95": [2.0, 350.0], "if": "all is even"}
    provenance = {"expected": expected, "size": 10_000, "warnings": ["Beware <of> tails."]}
    text = read(page(release([1, 2], provenance=provenance))).text
    assert "by at most 87 of 10,000 records" in text
    assert "by at most 350 (3.5%). This holds if all is even." in text
    assert "Beware <of> tails." in text
    assert "does not state how far off" in page(release([1, 2]))
    assert "at least 95%" in page(with_intervals([1, 2, 3]))


def test_groups_are_shown_with_size_error_and_how_many_are_hidden() -> None:
    facts = {"sizes": [1200, 60], "expected_errors": [0.0042, 0.083], "min_size": 50, "hidden": 3}
    shown = GroupedRelease(
        by=("town",),
        keys=(("Kent",), ("Ely",)),
        key_types=("str",),
        values=((1, 2, 3), (4, 5, 6)),
        q=(0.25, 0.5, 0.75),
        guarantee=PureDP(epsilon=1.0),
        mechanism="joint_exp",
        type="int",
        provenance={**facts, "grid": {"lower": -(2**63), "upper": 2**63 - 1}},
    )
    text = " ".join(read(page(shown)).text.split())
    assert "town 0.25 0.5 0.75 size expected error Kent 1 2 3 1,200 0.0042 Ely" in text
    assert "3 of 5 groups are hidden: their sizes are below 50." in text
    assert "at 0.02, a median is about the 48th to the 52nd percentile" in text
    assert "-9,223,372,036,854,775,808 to 9,223,372,036,854,775,807" in text


def test_the_ledger_is_shown_as_it_stands() -> None:
    remains = Remains("pay <2026>", "epsilon = 0.8 remains of epsilon = 1", 0.8)
    written = page(release([1, 2]), remains)
    assert "“pay <2026>”: epsilon = 0.8 remains of epsilon = 1." in read(written).text
    assert '<rect width="20.0"' in written
    assert "<2026>" not in written


def test_intervals_of_groups_stand_below_their_answers() -> None:
    parts = [with_intervals([10, 20, 30]), with_intervals([40, 50, 60])]
    shown = GroupedRelease(
        by=("town",),
        keys=(("Kent",), ("Ely",)),
        key_types=("str",),
        values=tuple(part.values for part in parts),
        q=parts[0].q,
        guarantee=PureDP(epsilon=1.0),
        mechanism="joint_exp",
        type="int",
        ranks=tuple(part.ranks for part in parts if part.ranks is not None),
    )
    read_out = " ".join(read(page(shown)).text.split())
    ends = [[f"{low} to {high}" for low, high in part.interval()] for part in parts]
    assert len({end for some in ends for end in some}) == 6
    for town, part, under in zip(("Kent", "Ely"), parts, ends, strict=True):
        cells = (f"{v} {end}" for v, end in zip(part.values, under, strict=True))
        assert f"{town} {' '.join(cells)}" in read_out
    assert "at least 95%" in read_out
    assert "to_frame" not in read_out
    assert "to_frame() and in" in markdown(shown).replace(",", "")


@pytest.mark.parametrize(
    ("ends", "records", "words"),
    [
        ((None, 99), 1000, "20 or less"),
        ((-99, None), 1000, "20 or more"),
        ((-99, 99), 1000, "-99 to 20"),
        ((None, None), 1, "any value"),
    ],
)
def test_intervals_of_groups_read_as_english(
    ends: tuple[int | None, int | None], records: int, words: str
) -> None:
    part = with_intervals([10, 20, 30], ends=ends)
    assert part.ranks is not None
    shown = GroupedRelease(
        by=("town",),
        keys=(("Kent",),),
        key_types=("str",),
        values=(part.values,),
        q=part.q,
        guarantee=PureDP(epsilon=1.0),
        mechanism="joint_exp",
        type="int",
        ranks=(replace(part.ranks, counts=(records,) * 4, size=4 * records),),
    )
    told = " ".join(read(page(shown)).text.split())
    assert f" {words} " in told
    assert " 1 group by town. " in told
    assert "The intervals are in to_frame()" in repr(shown)


PROBE = """<iframe id="f" style="width:{width}px;height:900px" srcdoc="{page}"></iframe><script>
f.onload = () => {{
  const root = f.contentDocument.documentElement
  const style = f.contentWindow.getComputedStyle(f.contentDocument.body)
  const pre = f.contentDocument.querySelectorAll("details")
  pre.forEach((one) => {{ one.open = true }})
  const shown = [...f.contentDocument.querySelectorAll(".answers > svg")].filter(
    (one) => one.getBoundingClientRect().width > 0)
  const scale = shown[0].getBoundingClientRect().width / shown[0].viewBox.baseVal.width
  const letters = scale * parseFloat(f.contentWindow.getComputedStyle(shown[0]).fontSize)
  document.title = [root.scrollWidth, style.color, style.backgroundColor, shown.length, letters]
    .join("|")
}}</script>"""


def lightness(color: str) -> int:
    return sum(map(int, re.findall(r"\d+", color)[:3]))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_on_phones_and_in_the_dark(
    width: int, dark: bool, tmp_path: Path
) -> None:
    provenance = {"precision": ["x" * 60], "warnings": ["Long words " * 20], "size": 9}
    shown = with_intervals([-(10**17), 3, 10**17], provenance=provenance)
    probe = tmp_path / "probe.html"
    escaped = html.escape(page(shown))
    probe.write_text(PROBE.format(width=width, page=escaped), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    flags = ["--blink-settings=preferredColorScheme=0"] if dark else []
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [*command, *flags, profile, "--virtual-time-budget=3000", probe.as_uri()],
        capture_output=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"<title>(\d+)\|(.*?)\|(.*?)\|(\d+)\|(.*?)</title>", done.stdout.decode())
    assert found
    assert int(found[1]) <= width
    ink, paper = lightness(found[2]), lightness(found[3])
    assert (ink > paper) is dark
    assert abs(ink - paper) > 450
    assert found[4] == "1"  # one picture, in letters that can be read
    assert float(found[5]) > 10.5


@pytest.mark.parametrize(
    ("value", "lower", "step", "words"),
    [
        (Decimal(1), "0.000000", 5000, "in steps of 0.005, found"),
        (Decimal(1), "0.000000", 2000000, "in steps of 2, found"),
        (Decimal(1), "0", 3, "in steps of 3, found"),
        (dt.date(2024, 1, 2), "2024-01-01", 1, "in steps of 1 day, found"),
        (dt.date(2024, 1, 2), "2024-01-01", 7, "in steps of 7 days, found"),
        (0.5, 0.0, 0.25, "in steps of 0.25, found"),
        (dt.timedelta(1), "0 s", 5000, "to the top, found"),
    ],
)
def test_steps_are_told_in_the_unit_of_the_values(
    value: object, lower: object, step: object, words: str
) -> None:
    """Provenance counts a step in the unit of the type: last decimal places, days, ticks."""
    member = {"lower": lower, "upper": "the top", "step": step}
    type_name = type(value).__name__.lower()
    made = release([value], type_name, provenance={"grid": {"member": member}})
    assert words in page(made)


def test_a_report_says_which_share_of_the_quantiles_was_drawn() -> None:
    drawn = release([1.0, 2.0, 3.0], "float", provenance={"drawn": [0.1, 0.9]})
    said = "2 of 3 quantiles; the others lie on the lines between"
    assert said in read(page(drawn)).text
    assert said not in read(page(release([1.0, 2.0, 3.0], "float"))).text
    many = dpq.quantiles(range(300), [k / 30 for k in range(1, 30)], epsilon=1.0)
    assert "9 of 29 quantiles" in read(page(many)).text


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ({"lower": 0.0, "upper": 61440.0, "step": 1.0}, "0 to 61,440 in steps of 1,"),
        ({"lower": 0.0, "upper": 0.5, "step": 2.0**-32}, "0 to 0.5 in steps of about 2.3e-10,"),
        ({"lower": None, "upper": None}, None),
    ],
)
def test_possible_answers_are_round_numbers(drawn: dict[str, object], said: str | None) -> None:
    provenance = {"grid": {"name": "float", "member": drawn}}
    text = read(page(release([1.0, 2.0], "float", provenance=provenance))).text
    assert ("Possible answers" in text) is (said is not None)
    assert said is None or said in text
