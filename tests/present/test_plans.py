"""Plans for people: complete tables, sound markup."""

from dataclasses import replace
from xml.etree.ElementTree import fromstring

import dpquantiles as dpq
from dpquantiles.present import plans


def test_text_names_every_mechanism_and_quantile() -> None:
    plan = dpq.plan(size=500, q="deciles", epsilon=1.0, bounds=(0.0, 1.0))
    shown = str(plan)
    for estimate in plan.table:
        assert estimate.mechanism in shown
    for name in plan.left_out:
        assert f"Left out: {name}" in shown
    assert plan.chosen.mechanism in shown
    assert all(f"\n  {q:g} " in shown for q in plan.q)
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_details_are_of_the_mechanism_that_auto_takes() -> None:
    plan = dpq.plan(size=500, q="median", epsilon=1.0, bounds=(0.0, 1.0))
    auto = plan["auto"]
    other = next(e for e in plan.table if e.mechanism != auto.mechanism)
    assert f"By quantile, {auto.mechanism}:" in str(plan)
    assert {found.mechanism for _, found in plan.curve()} == {auto.mechanism}
    assert f"By quantile, {other.mechanism}:" in plans.text(plan, mechanism=other.mechanism)
    drawn = plans.svg(plan, plan.curve(other.mechanism))
    assert f"Rank error of {other.mechanism}: one quantile" in drawn
    unlisted = replace(plan, table=(other,))
    assert unlisted["auto"] == other


def test_many_quantiles_are_shown_as_a_selection() -> None:
    plan = dpq.plan(size=500, q="percentiles", epsilon=1.0, bounds=(0, 120))
    shown = str(plan)
    assert "\n  0.01 " in shown
    assert "\n  0.99 " in shown
    assert len(shown.splitlines()) < 50


def test_a_notebook_shows_both_tables() -> None:
    plan = dpq.plan(size=500, q="quartiles", epsilon=1.0, bounds=(0, 120))
    root = fromstring(plan._repr_html_())
    assert len(list(root.iter("table"))) == 2
    assert plan.assumption in "".join(root.itertext())


def test_a_picture_says_what_it_rests_on() -> None:
    plan = dpq.plan(size=500, q="median", epsilon=1.0, bounds=(0.0, 1.0), data="clustered")
    root = fromstring(plans.svg(plan, plan.curve()))
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert f"Assumed: {plan.assumption}." in " ".join(text.text or "" for text in texts)
    assert max(float(text.attrib["y"]) for text in texts) < float(root.attrib["height"])


def test_no_error_is_not_drawn_as_some() -> None:
    """Ages in years: an answer is off by less than the records that share it."""
    plan = dpq.plan(size=10_000, q="quartiles", epsilon=1.0, bounds=(0, 120))
    assert plan["auto"].worst == 0.0
    root = fromstring(plans.svg(plan, plan.curve()))
    labels = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "≤ 0.1" in labels


def test_lines_grow_with_the_error() -> None:
    plan = dpq.plan(size=5000, q="median", epsilon=1.0, bounds=(0.0, 1.0))
    curve = plan.curve()
    lines = plans.bars(curve, plan.size)[1:]
    lengths = [line.count("─") for line in lines]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]
    errors = [estimate.worst for _, estimate in curve]
    assert errors == sorted(errors, reverse=True)


def test_a_small_error_does_not_look_like_none() -> None:
    plan = dpq.plan(size=1_000_000, q=[0.5, 0.999], epsilon=1.0)
    assert 0 < plan["auto"].worst < 100
    shown = str(plan)
    assert "<0.01%" in shown
    assert "0.00%" not in shown
