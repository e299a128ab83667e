"""The registry: all mechanisms by name, and how each is built, planned and drawn by group.

One `Registration` makes a mechanism available. Everything but its class has a default that works
for any mechanism, so a registration states only what is better for this one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from dpquantiles import require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import FloatGrid, Grid, finest
from dpquantiles.kernels.gaps import MOST_ANSWERS
from dpquantiles.mechanisms import simulation
from dpquantiles.mechanisms.above_threshold import AboveThreshold
from dpquantiles.mechanisms.adaptive_tree import AdaptiveTree
from dpquantiles.mechanisms.agg_tree import FLOAT_SHAPE, SHAPE, AggTree
from dpquantiles.mechanisms.approx_quantiles import ApproximateQuantiles
from dpquantiles.mechanisms.baselines.csmooth import CSmooth
from dpquantiles.mechanisms.baselines.ind_exp import AppIndExp, IndExp
from dpquantiles.mechanisms.baselines.paper_joint_exp import PaperJointExp
from dpquantiles.mechanisms.fitted import Fitted
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_groups import GroupDraws, draw_side_by_side
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.mechanisms.recursive_joint_exp import MOST_ALONE, RecursiveJointExp
from dpquantiles.mechanisms.slice_quantiles import SliceQuantiles
from dpquantiles.privacy import ZCDP, Guarantee

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
"""The names, for type checkers, which cannot read them from the classes."""

FEW, SOME = 12, 40
"""Above these numbers of quantiles, plans use another number of draws."""

CELL_HEIGHT = 2
"""The height of adaptive trees with up to about four hundred cells."""

Rate = Callable[[ZCDP, int, Grid], float]


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A mechanism, and what plans and grouped releases need beside its profile."""

    mechanism: Any
    simulate: simulation.Simulation = simulation.by_releases
    """Makes many quick draws on made-up records."""
    draws: tuple[int, int, int] = (1024, 1024, 1024)
    """How many draws take about a second, for up to `FEW`, up to `SOME`, and more quantiles."""
    fewest: int = 1
    """It is left out for fewer quantiles, for the reason `too_few`."""
    too_few: str = ""
    most: int = require.LARGEST_COUNT
    """More quantiles are refused."""
    most_planned: int = require.LARGEST_COUNT
    """Plans leave it out for more quantiles, because it is too slow or too inaccurate."""
    concentrated_rate: Rate | None = None
    """The rate that a rho buys for m quantiles on a grid, in units of the rate at epsilon = 1 under
    swap neighbors. Mechanisms that `mechanism="auto"` may choose need it."""
    draw_groups: GroupDraws | None = None
    """Draws all groups together; without it, they are drawn one after the other."""

    @property
    def name(self) -> str:
        """The name by which the mechanism is requested."""
        return str(self.mechanism.name)

    def draws_for(self, m: int) -> int:
        """How many draws a plan makes for m quantiles."""
        return self.draws[0 if m <= FEW else 1 if m <= SOME else 2]

    def rate(self, budget: Guarantee, m: int, grid: Grid) -> float:
        """The rate at a budget, in units of the rate at epsilon = 1 under swap neighbors."""
        if not isinstance(budget, ZCDP):
            return neighbor_factor(budget) * budget.epsilon
        if self.concentrated_rate is None:
            raise InvalidValue(f"mechanism must have a rate for a rho, got {self.name!r}")
        return self.concentrated_rate(budget, m, grid)


def neighbor_factor(budget: Guarantee) -> float:
    """The rate that a budget buys for its neighbors, relative to swap neighbors."""
    return 2.0 / budget.neighbors.records


def _joint_rate(budget: ZCDP, m: int, grid: Grid) -> float:  # noqa: ARG001
    return neighbor_factor(budget) * budget.bounded_range()


def _recursive_rate(budget: ZCDP, m: int, grid: Grid) -> float:  # noqa: ARG001
    parts = RecursiveJointExp.parts(m)
    return neighbor_factor(budget) * parts * budget.bounded_range(parts)


def _tree_rate(budget: ZCDP, height: int) -> float:
    """The rate per node, relative to 1 / (2 height) at epsilon = 1."""
    return budget.counting_rate(height) * 2 * height


def _cell_tree_rate(budget: ZCDP, m: int, grid: Grid) -> float:  # noqa: ARG001
    return _tree_rate(budget, CELL_HEIGHT)


def _even_tree_rate(budget: ZCDP, m: int, grid: Grid) -> float:  # noqa: ARG001
    return _tree_rate(budget, (FLOAT_SHAPE if isinstance(finest(grid), FloatGrid) else SHAPE)[0])


REGISTERED: dict[str, Registration] = {}
"""All registrations, by name."""

MECHANISMS: dict[str, Any] = {}
"""The classes of all mechanisms, by name."""


def register(new: Registration) -> None:
    """Make a mechanism available by its name in releases, plans and commands."""
    if new.name in REGISTERED:
        raise InvalidValue(f"mechanism must have a name of its own, got {new.name!r}")
    REGISTERED[new.name], MECHANISMS[new.name] = new, new.mechanism


def unregister(name: str) -> None:
    """Remove a mechanism."""
    del REGISTERED[name], MECHANISMS[name]


for _built_in in (
    Registration(
        mechanism=JointExp,
        simulate=simulation.joint_exp,
        draws=(1024, 256, 128),
        most=MOST_ANSWERS,
        most_planned=400,
        concentrated_rate=_joint_rate,
        draw_groups=draw_side_by_side,
    ),
    Registration(
        mechanism=RecursiveJointExp,
        simulate=simulation.recursive_joint_exp,
        draws=(128, 128, 128),
        fewest=MOST_ALONE,
        too_few="the same as joint_exp for so few quantiles",
        concentrated_rate=_recursive_rate,
    ),
    Registration(
        mechanism=Fitted,
        simulate=simulation.fitted,
        draws=(1024, 256, 128),
        concentrated_rate=_cell_tree_rate,
    ),
    Registration(
        mechanism=AdaptiveTree,
        simulate=simulation.adaptive_tree,
        concentrated_rate=_cell_tree_rate,
    ),
    Registration(
        mechanism=AggTree,
        simulate=simulation.agg_tree,
        draws=(256, 256, 256),
        concentrated_rate=_even_tree_rate,
    ),
    Registration(
        mechanism=ApproximateQuantiles,
        simulate=simulation.recursive_joint_exp,
        draws=(128, 128, 128),
    ),
    Registration(mechanism=SliceQuantiles, most_planned=100),
    Registration(mechanism=AboveThreshold, most_planned=3),
    Registration(mechanism=IndExp, simulate=simulation.one_by_one),
    Registration(mechanism=AppIndExp, simulate=simulation.one_by_one),
    Registration(mechanism=CSmooth),
    Registration(mechanism=PaperJointExp),
):
    register(_built_in)


def build(
    name: str, budget: Guarantee, *, q: tuple[float, ...], size: int | None = None
) -> Mechanism:
    """Build the named mechanism; if it cannot meet the budget, the error names those that can."""
    mechanism = MECHANISMS[require.choice(MECHANISMS, mechanism=name)]
    objection = mechanism.profile.objection(name, budget)
    if objection:
        others = [n for n, m in MECHANISMS.items() if not m.profile.objection(n, budget)]
        able = f"those that do: {', '.join(others)}" if others else "no mechanism does"
        raise InvalidValue(f"{objection}; {able}")
    return _built(mechanism, budget, q, size)


@lru_cache(maxsize=128)
def _built(
    mechanism: type[Mechanism], budget: Guarantee, q: tuple[float, ...], size: int | None
) -> Mechanism:
    """Cached, because a job asks for the same one before and after it reads."""
    return mechanism(q=q, budget=budget, size=size)
