"""The mechanisms by name, and the choice of one that can meet a budget."""

from typing import Any, Literal

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.mechanisms.above_threshold import AboveThreshold
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import AggTree
from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.baselines.csmooth import CSmooth
from dpquantiles.mechanisms.baselines.ind_exp import AppIndExp, IndExp
from dpquantiles.mechanisms.baselines.paper_joint_exp import PaperJointExp
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.mechanisms.recursive_joint_exp import RecursiveJointExp
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.privacy import Guarantee

MechanismName = Literal[
    "joint_exp",
    "recursive_joint_exp",
    "fitted",
    "adaptive_tree",
    "agg_tree",
    "approx_quantiles",
    "slice_quantiles",
    "above_threshold",
    "ind_exp",
    "app_ind_exp",
    "csmooth",
    "paper_joint_exp",
]
"""The names for type checkers, which cannot read them from the classes."""

MECHANISMS: dict[str, Any] = {
    mechanism.name: mechanism
    for mechanism in (
        JointExp,
        RecursiveJointExp,
        Fitted,
        AdaptiveTree,
        AggTree,
        ApproximateQuantiles,
        SliceQuantiles,
        AboveThreshold,
        IndExp,
        AppIndExp,
        CSmooth,
        PaperJointExp,
    )
}


def build(
    name: str, budget: Guarantee, *, q: tuple[float, ...], size: int | None = None
) -> Mechanism:
    """The named mechanism within a budget; refuses what it cannot meet and names what can."""
    mechanism = MECHANISMS[require.choice(MECHANISMS, mechanism=name)]
    objection = mechanism.profile.objection(name, budget)
    if objection:
        others = [n for n, m in MECHANISMS.items() if not m.profile.objection(n, budget)]
        told = f"those that do: {', '.join(others)}" if others else "no mechanism does"
        raise InvalidValue(f"{objection}; {told}")
    built: Mechanism = mechanism(q=q, budget=budget, size=size)
    return built
