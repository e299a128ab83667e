"""What a notebook shows: well-formed, escaped, and without anything from outside."""

from xml.etree import ElementTree

import pytest

from dpquantiles.present.releases import html
from dpquantiles.results import Release
from tests.present.releases import EVERY_TYPE, release, with_intervals

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("shown", EVERY_TYPE, ids=str)
def test_every_type_is_well_formed(shown: Release) -> None:
    root = ElementTree.fromstring(html(shown))
    assert len(root.findall(".//tbody/tr")) == len(shown.values)
    dots = root.findall(f".//{SVG}circle")
    assert len(dots) == (len(shown.values) if len(shown.values) > 1 else 0)
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= 440
        assert 0 <= float(dot.attrib["cy"]) <= 230


def test_larger_values_stand_higher() -> None:
    root = ElementTree.fromstring(html(release([1, 2, 4], q=(0.2, 0.5, 0.8))))
    heights = [float(dot.attrib["cy"]) for dot in root.findall(f".//{SVG}circle")]
    assert heights == sorted(heights, reverse=True)


def test_answers_in_any_order_are_joined_in_the_order_of_quantiles() -> None:
    root = ElementTree.fromstring(html(release([4, 1], q=(0.9, 0.1))))
    cells = [cell.text for cell in root.findall(".//tbody/tr/td")]
    across = [float(dot.attrib["cx"]) for dot in root.findall(f".//{SVG}circle")]
    assert cells == ["0.9", "4", "0.1", "1"]
    assert across == sorted(across)


def test_text_is_escaped() -> None:
    written = html(release([1, 2], guarantee=None, note='<script>alert("&")</script>'))
    assert "<script" not in written
    assert "&lt;script&gt;" in written


def test_nothing_comes_from_outside() -> None:
    for shown in EVERY_TYPE:
        written = html(shown).replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not any(word in written for word in ("http", "<script", "<link", "url(", "@import"))


def test_the_promise_or_its_absence_is_told() -> None:
    private = html(release([1, 2]))
    assert "differential privacy" in private
    open_ = html(release([1, 2], guarantee=None, note="no privacy guarantee: seeded"))
    assert "No privacy guarantee: seeded." in open_
    assert "#e0872b" in open_
    assert "#e0872b" not in private


@pytest.mark.parametrize("ends", [(-3e38, 3e38), (None, None)])
def test_intervals_have_columns_and_bars(ends: tuple[float | None, float | None]) -> None:
    shown = with_intervals([1.0, 2.0, 4.0], "float", q=(0.25, 0.5, 0.75), ends=ends)
    root = ElementTree.fromstring(html(shown))
    assert [cell.text for cell in root.findall(".//thead/tr/th")] == [
        "q",
        "value",
        "lower",
        "upper",
    ]
    assert [cell.text for cell in root.findall(".//tbody/tr[2]/td")] == ["0.5", "2", "1", "4"]
    bars = root.findall(f".//{SVG}line[@class='interval']")
    dots = root.findall(f".//{SVG}circle")
    assert len(bars) == len(dots) == 3
    heights = []
    for bar, dot in zip(bars, dots, strict=True):
        assert bar.attrib["x1"] == bar.attrib["x2"] == dot.attrib["cx"]
        low, high = float(bar.attrib["y1"]), float(bar.attrib["y2"])
        assert 0 <= high <= float(dot.attrib["cy"]) <= low <= 230
        heights.append((low, high))
    # The open ends are cut off where the picture ends, however far they go.
    assert heights[0] == (float(dots[0].attrib["cy"]), float(dots[1].attrib["cy"]))
    assert "Each interval holds the quantile of the data" in html(shown)


def test_a_release_shows_itself() -> None:
    shown = release([1, 2])
    assert shown._repr_html_() == html(shown)
