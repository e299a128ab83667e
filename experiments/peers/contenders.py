"""Who is measured: ours without and with facts, mechanisms of the package, other libraries."""

import random
from collections.abc import Mapping
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

import dpquantiles as dpq
from experiments import trials
from experiments.everyday_data import Array
from experiments.peers import libraries
from experiments.trials import Contender, Question, Shared

OURS = "ours"
EPSILON = libraries.EPSILON
PURE: dict[str, Any] = {"epsilon": EPSILON}
APPROXIMATE: dict[str, Any] = {"epsilon": EPSILON, "delta": 1e-6}
CONCENTRATED: dict[str, Any] = {"rho": EPSILON**2 / 2}


class Entry(NamedTuple):
    """A contender, and what is to be known about it."""

    words: str
    answer: Contender
    library: str = ""
    """The name on PyPI, where it is another library."""
    ours: bool = False
    weaker: bool = False
    """Whether its promise is weaker than epsilon."""


def without_facts(question: Question, seed: int) -> Array:
    """The default call: no bounds, no resolution, no mechanism."""
    release = dpq.quantiles(question.values, question.q, rng=random.Random(seed), **PURE)
    return np.asarray(release)


def with_facts(
    question: Question, seed: int, *, mechanism: Any = "auto", budget: Mapping[str, Any] = PURE
) -> Array:
    """A mechanism of the package, told bounds and resolution."""
    facts = question.column.facts
    release = dpq.quantiles(
        question.values,
        question.q,
        mechanism=mechanism,
        rng=random.Random(seed),
        **facts,
        **budget,
    )
    return np.asarray(release)


def paper_joint_exp(question: Question, seed: int) -> Array:
    """The paper's JointExp, which cannot answer ties, on records that are spread over the step."""
    values, bounds = libraries.spread(question, seed)
    release = dpq.quantiles(
        values,
        question.q,
        mechanism="paper_joint_exp",
        bounds=bounds,
        rng=random.Random(seed),
        **PURE,
    )
    return question.column.rounded(release)


def named(mechanism: str, budget: Mapping[str, Any] = PURE) -> Contender:
    return partial(with_facts, mechanism=mechanism, budget=budget)


ENTRIES = {
    OURS: Entry("the default call, without bounds or resolution", without_facts, ours=True),
    "ours with facts": Entry("the default call with both", with_facts, ours=True),
    "JointExp": Entry("the paper's, ties spread over the step", paper_joint_exp),
    "AggTree": Entry("the paper's", named("agg_tree")),
    "Kaplan et al.": Entry("approximate quantiles", named("approx_quantiles")),
    "AboveThreshold": Entry("Durfee's search", named("above_threshold")),
    "IndExp": Entry("epsilon split evenly", named("ind_exp")),
    "AppIndExp": Entry(
        "the same for (1, 10⁻⁶), a weaker promise", named("app_ind_exp", APPROXIMATE), weaker=True
    ),
    "CSmooth": Entry(
        "smooth sensitivity for rho = 1/2, a weaker promise",
        named("csmooth", CONCENTRATED),
        weaker=True,
    ),
    "OpenDP": Entry("exponential mechanism over candidates", libraries.opendp_candidates, "opendp"),
    "OpenDP tree": Entry("consistent tree of counts", libraries.opendp_tree, "opendp"),
    "diffprivlib": Entry("its quantile", libraries.diffprivlib, "diffprivlib"),
    "PyDP": Entry("Percentile for one, QuantileTree for several", libraries.pydp, "python-dp"),
}

ABSENT = "not installed"


def version(library: str) -> str:
    """The version of another library that is there."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ABSENT


def code(entry: Entry) -> str:
    """What rows depend on: our sources for ours, the version of another library for it.

    What stands in for papers is kept as long as the version of the package is the same.
    """
    if entry.ours:
        return trials.fingerprint()
    return version(entry.library) if entry.library else ""


def shared(folder: str) -> Shared:
    """What workers need."""
    return Shared({name: entry.answer for name, entry in ENTRIES.items()}, folder)
