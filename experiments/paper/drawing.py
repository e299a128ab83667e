"""How figures look: one name, color and marker per contender, curves with bands, saved twice."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.figure import FAINT, STYLE
from experiments.paper.contenders import UNKNOWN_SIZE
from experiments.paper.data import Floats
from experiments.paper.runs import LINE_BY_LINE

# Colors of Okabe and Ito that are dark enough on white, and two dark ones beside them.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#B0528A"
BLACK, BROWN, SKY, GRAY = "#111111", "#8A5A00", "#3A93C6", "#6E6E6E"

DEEPEST = 4.0
"""A band goes down to this part of its mean at most."""

TICKS = tuple(a * 10.0**b for b in range(-5, 8) for a in (1, 3))


class Look(NamedTuple):
    """How one contender is drawn, and what it is called."""

    label: str
    color: str
    marker: str = ""
    line: str = "-"
    width: float = 1.6


LOOKS = {
    "joint_exp": Look("dpquantiles: joint_exp", BLUE, "o", width=2.6),
    "JointExp": Look("JointExp (the paper)", VERMILION, "s"),
    "AppIndExp": Look("AppIndExp", GREEN, "^"),
    "CSmooth": Look("CSmooth", PURPLE, "v"),
    "AggTree": Look("AggTree", BLACK, "D"),
    "JointExp, ties undone": Look("JointExp, data perturbed", PURPLE, "v", "--"),
    LINE_BY_LINE: Look("JointExp, line by line", BROWN, "X", "--"),
    "paper_joint_exp": Look("paper_joint_exp", VERMILION, "s"),
    "app_ind_exp": Look("app_ind_exp (δ = 1e-6)", GREEN, "^"),
    "csmooth": Look("csmooth (rho = ε²/2)", PURPLE, "v"),
    "agg_tree": Look("agg_tree", BLACK, "D"),
    "adaptive_tree": Look("adaptive_tree", BLACK, "d", "--"),
    "fitted": Look("dpquantiles: fitted", BLUE, "h", "--", width=2.6),
    "recursive_joint_exp": Look("recursive_joint_exp", SKY, "P", "--"),
    "approx_quantiles": Look("approx_quantiles", BROWN, "X", "--"),
    "slice_quantiles": Look("slice_quantiles", GRAY, "*", ":"),
    "above_threshold": Look("above_threshold", GRAY, "<", "-."),
    "ind_exp": Look("ind_exp", GREEN, "^", ":"),
}
NEIGHBOR_LINES = {"swap": "-", "add-remove": "--", UNKNOWN_SIZE: ":"}


class Curve(NamedTuple):
    """Means over a public number, with their standard errors."""

    x: Sequence[float]
    mean: Floats
    error: Floats

    @classmethod
    def of(cls, samples: Mapping[int, Floats] | Mapping[float, Floats]) -> "Curve":
        """Cells without a trial have no point."""
        kept = {x: sample for x, sample in samples.items() if len(sample)}
        means = np.array([sample.mean() for sample in kept.values()])
        errors = np.array([standard_error(sample) for sample in kept.values()])
        return cls(list(kept), means, errors)


def standard_error(sample: Floats) -> float:
    """Of the mean; one trial alone shows none."""
    return float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else 0.0


def plot(axes: Axes, curve: Curve, look: Look, *, least: float = 0.0) -> None:
    """A line with its points and a band of one standard error."""
    if not len(curve.x):
        axes.plot([], [], look.line, color=look.color, marker=look.marker, label=look.label)
        return
    middle = np.maximum(curve.mean, least)
    axes.fill_between(curve.x, *band(curve, least), color=look.color, alpha=0.2, linewidth=0)
    axes.plot(
        curve.x,
        middle,
        look.line,
        color=look.color,
        linewidth=look.width,
        marker=look.marker,
        markersize=4,
        label=look.label,
    )


def band(curve: Curve, least: float = 0.0) -> tuple[Floats, Floats]:
    """One standard error on either side, cut where a log axis would run away toward zero."""
    low = np.maximum(curve.mean - curve.error, curve.mean / DEEPEST)
    return np.maximum(low, least), np.maximum(curve.mean + curve.error, least)


def log_scale(axis: Any) -> None:
    """A log axis with plain numbers."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(FixedLocator(TICKS))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}" if x < 1e6 else f"{x:.0e}"))


def grid_lines(axes: Axes) -> None:
    """Faint lines to read values by."""
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def named_ticks(axes: Axes, places: Sequence[float], labels: Sequence[str]) -> None:
    """Public numbers on the horizontal axis, and nothing else."""
    axes.xaxis.set_major_locator(FixedLocator(list(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(labels)


def panels(count: int, *, columns: int = 2, height: float = 3.1) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels."""
    lines = -(-count // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(4.6 * columns, height * lines), layout="constrained", squeeze=False
    )
    return figure, list(grid.flat)[:count]


def legend(figure: Figure, axes: Axes, *, columns: int = 5) -> None:
    """One legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(
        unique.values(),
        unique.keys(),
        loc="outside lower center",
        ncols=min(columns, len(unique)),
        frameon=False,
    )


def save(figure: Figure, stem: Path) -> None:
    """As SVG and as PNG."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    plt.close(figure)


def styled() -> Any:
    """The style of all figures."""
    return mpl.rc_context({**STYLE, "font.size": 10, "legend.fontsize": 9.5})
