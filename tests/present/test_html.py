"""What a notebook shows: well-formed, escaped, and without anything from outside."""

from xml.etree import ElementTree

import pytest

from dpquantiles.present.releases import html
from dpquantiles.results import Release
from tests.present.releases import EVERY_TYPE, release, with_intervals

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("shown", EVERY_TYPE, ids=lambda shown: f"{len(shown)} {shown.type}")
def test_every_type_is_well_formed(shown: Release) -> None:
    root = ElementTree.fromstring(html(shown))
    assert len(root.findall(".//tbody/tr")) == len(shown.values)
    dots = root.findall(f".//{SVG}circle")
    assert len(dots) == (len(shown.values) if len(shown.values) > 1 else 0)
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= 440
        assert 30 <= float(dot.attrib["cy"]) <= 208


def test_larger_values_stand_to_the_right_and_larger_quantiles_higher() -> None:
    root = ElementTree.fromstring(html(release([1, 2, 4], q=(0.2, 0.5, 0.8))))
    dots = root.findall(f".//{SVG}circle")
    across = [float(dot.attrib["cx"]) for dot in dots]
    assert across[2] - across[1] == pytest.approx(2 * (across[1] - across[0]), abs=0.2)
    heights = [float(dot.attrib["cy"]) for dot in dots]
    assert heights == pytest.approx([30 + 178 * (1 - q) for q in (0.2, 0.5, 0.8)], abs=0.1)


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
    bars = root.findall(f".//{SVG}polyline[@class='interval']")
    dots = root.findall(f".//{SVG}circle")
    assert len(bars) == len(dots) == 3
    spans = []
    for bar, dot in zip(bars, dots, strict=True):
        (left, height), (right, same) = (end.split(",") for end in bar.attrib["points"].split())
        assert height == same == dot.attrib["cy"]
        assert 0 <= float(left) <= float(dot.attrib["cx"]) <= float(right) <= 440
        spans.append((left, right))
    # The open ends are cut off where the picture ends, however far they go.
    assert spans[0] == (dots[0].attrib["cx"], dots[1].attrib["cx"])
    assert "Each interval contains the quantile of the data" in html(shown)


def test_a_release_shows_itself() -> None:
    shown = release([1, 2])
    assert shown._repr_html_() == html(shown)
