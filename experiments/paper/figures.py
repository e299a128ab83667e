"""The figures, each from results to a picture: the paper's first, then ours beyond it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from dpquantiles.mechanisms import MECHANISMS
from experiments.paper import drawing, spec
from experiments.paper.cells import RECORDS, Cell
from experiments.paper.contenders import OURS, PAPER
from experiments.paper.drawing import LOOKS, NEIGHBOR_LINES, Curve
from experiments.paper.results import Results
from experiments.paper.tuning import COUNTS, PANELS, PAPER_SHAPES, TIMED_M

M_TICKS = (1, 5, 10, 15, 20, 25, 29)
HISTOGRAM_RECORDS = 10_000
HISTOGRAM_BINS = 100
LEAST_SHOWN = {"missed": 0.03, "distance": 1e-4}
"""Errors below this are drawn here on log axes; some are zero."""


def histograms(results: Results) -> Figure:
    """The four data sets."""
    figure, axes = drawing.panels(len(PANELS), height=2.5)
    for place, panel in zip(axes, PANELS, strict=True):
        values = results.tables.sample(results.tables.name(panel), HISTOGRAM_RECORDS, 0)
        place.hist(values, bins=HISTOGRAM_BINS, color=drawing.BLUE)
        place.set_title(results.title(panel).replace(" (for", "\n(for"))
        place.set_ylabel("records")
    return figure


def missed(results: Results) -> Figure:
    """Missed points per quantile against m."""
    return _error_figure(results, "missed", "missed points per quantile")


def distance(results: Results) -> Figure:
    """Distance error against m."""
    return _error_figure(results, "distance", "distance to the true one")


def _error_figure(results: Results, error: str, label: str) -> Figure:
    figure, axes = drawing.panels(len(PANELS))
    for place, panel in zip(axes, PANELS, strict=True):
        data = results.tables.name(panel)
        for name in (*PAPER, OURS):
            cells = {m: Cell(study="accuracy", data=data, contender=name, m=m) for m in COUNTS}
            curve = Curve.of({m: results.errors(error, cell) for m, cell in cells.items()})
            drawing.plot(place, curve, LOOKS[name]._replace(marker=""), least=LEAST_SHOWN[error])
        _finish(place, results.title(panel), "number of quantiles m", label)
        drawing.named_ticks(place, M_TICKS, [str(m) for m in M_TICKS])
    drawing.legend(figure, axes[0])
    return figure


def _finish(axes: Axes, title: str, x: str, y: str) -> None:
    drawing.log_scale(axes.yaxis)
    drawing.grid_lines(axes)
    axes.set(title=title.replace(" (for", "\n(for"), xlabel=x, ylabel=y)


def time(results: Results) -> Figure:
    """Time against m, and times over that of sorting at m = 30."""
    figure, (left, right) = drawing.panels(2, height=4.2)
    for name in spec.TIMED_CONTENDERS:
        samples = {m: 1e3 * results.times(name, RECORDS, m)[0] for m in spec.TIMED_COUNTS}
        curve = Curve.of(samples)
        drawing.plot(left, curve, LOOKS[name])
    _finish(left, "Time for 1,000 records", "number of quantiles m", "milliseconds")
    drawing.legend(figure, left, columns=3)
    _draw_ratios(right, results)
    return figure


def _draw_ratios(axes: Axes, results: Results) -> None:
    """Dots on a line per contender: open for a thousand records, full for a million."""
    names = spec.TIMED_CONTENDERS
    for size, fill in zip(spec.TIMED_SIZES, ("white", None), strict=True):
        for height, name in enumerate(reversed(names)):
            seconds, sort = results.times(name, size, TIMED_M)
            if len(seconds):
                color = LOOKS[name].color
                ratio = np.median(seconds) / np.median(sort)
                axes.plot(ratio, height, "o", color=color, mfc=fill or color, markersize=8)
        _, sort = results.times(OURS, size, TIMED_M)
        if len(sort):
            quoted = spec.PAPER_SECONDS[size] / np.median(sort)
            axes.plot(quoted, len(names), "D", color="#111111", mfc=fill or "#111111", ms=8)
    labels = [*(LOOKS[name].label for name in reversed(names)), "the paper says (its machine)"]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(-0.6, len(labels) - 0.4)
    drawing.log_scale(axes.xaxis)
    axes.xaxis.set_major_locator(FixedLocator([10.0**k for k in range(-1, 7)]))
    axes.grid(color="#d9d9d9")
    axes.set(title="m = 30: ○ 1,000 records, ● a million", xlabel="time over numpy.sort")


def smoothness(results: Results) -> Figure:
    """The tuned t of CSmooth: one color per m, one point per quantile."""
    figure, (axes,) = drawing.panels(1, columns=1, height=4.2)
    figure.set_size_inches(7.5, 4.2)
    colors = plt.get_cmap("viridis")
    for m, t in results.smoothness.items():
        if m in COUNTS:
            q = np.arange(1, m + 1) / (m + 1)
            axes.plot(q, t.mean(axis=0), ".", color=colors(0.9 * (m - 1) / 28), markersize=5)
    _finish(axes, "Tuned t of CSmooth on N(0, 1)", "quantile", "t")
    scale = plt.cm.ScalarMappable(Normalize(1, 29 / 0.9), colors)
    bar = figure.colorbar(scale, ax=axes, label="number of quantiles m", ticks=[1, 10, 20, 29])
    bar.ax.set_ylim(1, 29)
    if 3 in results.smoothness:
        ours = float(results.smoothness[3][:, 1].mean())
        axes.plot(0.5, ours, "o", mfc="none", mec=drawing.VERMILION, ms=11, mew=2)
        axes.annotate(
            f"m = 3, q = 0.5: {ours:.3f}\n(the paper: 0.13)",
            (0.5, ours),
            xytext=(0, 34),
            textcoords="offset points",
            ha="center",
            arrowprops={"arrowstyle": "-", "color": drawing.VERMILION},
        )
        largest = max(float(t.mean(axis=0).max()) for t in results.smoothness.values())
        axes.set_ylim(top=2.2 * largest)
    return figure


def shapes(results: Results) -> Figure:
    """AggTree: what the paper's shapes lose against ours, on fresh records."""
    figure, axes = drawing.panels(2)
    titles = {"missed": "Tuned for missed points", "distance": "Tuned for distance"}
    for place, (error, title) in zip(axes, titles.items(), strict=True):
        errors, ours = results.tree_checks[error], results.tuned.shapes[error]
        if errors and ours:
            for index, (theirs, own) in enumerate(zip(PAPER_SHAPES[error], ours, strict=True)):
                change = errors[theirs][:, index] - errors[own][:, index]
                base = errors[own][:, index].mean()
                place.errorbar(
                    index + 1,
                    100 * change.mean() / base,
                    yerr=200 * drawing.standard_error(change) / base,
                    fmt="o",
                    color=drawing.BLUE,
                    markersize=4,
                )
        place.axhline(0, color="#111111", linewidth=1)
        drawing.grid_lines(place)
        place.set(
            title=title, xlabel="number of quantiles m", ylabel="more error with the paper's, %"
        )
    return figure


def bounds(results: Results) -> Figure:
    """Error against the looseness of the bounds."""
    figure, axes = drawing.panels(len(PANELS))
    for place, panel in zip(axes, PANELS, strict=True):
        data = results.tables.name(panel)
        for name in (*PAPER, OURS):
            cells = [spec.bounds_cell(data, name, factor) for factor in spec.LOOSENESS]
            samples = {x: results.errors("missed", cell) for x, cell in enumerate(cells)}
            drawing.plot(place, Curve.of(samples), LOOKS[name], least=LEAST_SHOWN["missed"])
        _finish(place, results.title(panel), "bounds", "missed points per quantile")
        drawing.named_ticks(place, range(4), ["±100", "±1,000", "±100,000", "none"])
        place.set_xlim(-0.2, 3.2)
    drawing.legend(figure, axes[0])
    return figure


def many(results: Results) -> Figure:
    """All mechanisms for up to 255 quantiles."""
    figure, axes = drawing.panels(len(spec.MANY_SIZES), height=4.2)
    for place, n in zip(axes, spec.MANY_SIZES, strict=True):
        for name in MECHANISMS:
            cells = {
                m: Cell(study="many", data="gaussian", contender=name, m=m, n=n)
                for m in spec.MANY_COUNTS
            }
            samples = {m: results.errors("missed", cell) for m, cell in cells.items()}
            drawing.plot(place, Curve.of(samples), LOOKS[name], least=LEAST_SHOWN["missed"])
        title = f"Gaussian, {n:,} records"
        _finish(place, title, "number of quantiles m", "missed points per quantile")
        place.set_xscale("log")
        drawing.named_ticks(place, spec.MANY_COUNTS, [str(m) for m in spec.MANY_COUNTS])
    drawing.legend(figure, axes[0], columns=4)
    return figure


def tied(results: Results) -> Figure:
    """Tied data, where the paper's mechanism fails."""
    figure, axes = drawing.panels(len(spec.TIED), columns=3, height=3.6)
    for place, wanted in zip(axes, spec.TIED, strict=True):
        data = results.tables.name(wanted)
        for name in spec.TIED_CONTENDERS:
            cells = {m: spec.tied_cell(data, name, m) for m in spec.FEW_COUNTS}
            samples = {m: results.errors("missed", cell) for m, cell in cells.items()}
            drawing.plot(place, Curve.of(samples), LOOKS[name], least=LEAST_SHOWN["missed"])
        _finish(place, results.title(wanted), "number of quantiles m", "missed points per quantile")
        drawing.named_ticks(place, spec.FEW_COUNTS, [str(m) for m in spec.FEW_COUNTS])
    drawing.legend(figure, axes[0])
    return figure


def epsilon(results: Results) -> Figure:
    """Error against epsilon."""
    figure, (axes,) = drawing.panels(1, columns=1, height=4.2)
    figure.set_size_inches(7.5, 4.6)
    for name in spec.EPSILON_CONTENDERS:
        cells = {value: spec.epsilon_cell(name, value) for value in spec.EPSILONS}
        samples = {value: results.errors("missed", cell) for value, cell in cells.items()}
        drawing.plot(axes, Curve.of(samples), LOOKS[name], least=LEAST_SHOWN["missed"])
    _finish(axes, "Gaussian, m = 9, 1,000 records", "ε", "missed points per quantile")
    axes.set_xscale("log")
    drawing.named_ticks(axes, spec.EPSILONS, [f"{value:g}" for value in spec.EPSILONS])
    drawing.legend(figure, axes, columns=3)
    return figure


def neighbors(results: Results) -> Figure:
    """Swap against add-remove."""
    figure, (axes,) = drawing.panels(1, columns=1, height=4.2)
    figure.set_size_inches(7.5, 4.6)
    for name, kind in spec.NEIGHBORS:
        cells = {m: spec.neighbors_cell(name, kind, m) for m in spec.FEW_COUNTS}
        samples = {m: results.errors("missed", cell) for m, cell in cells.items()}
        look = LOOKS[name]._replace(label=f"{name}, {kind}", line=NEIGHBOR_LINES[kind])
        drawing.plot(axes, Curve.of(samples), look, least=LEAST_SHOWN["missed"])
    _finish(axes, "Gaussian, 1,000 records", "number of quantiles m", "missed points per quantile")
    drawing.named_ticks(axes, spec.FEW_COUNTS, [str(m) for m in spec.FEW_COUNTS])
    drawing.legend(figure, axes, columns=2)
    return figure


def sizes(results: Results) -> Figure:
    """Error against the number of records."""
    figure, (axes,) = drawing.panels(1, columns=1, height=4.2)
    figure.set_size_inches(7.5, 4.6)
    for name in spec.SIZE_CONTENDERS:
        samples = {
            n: results.errors(
                "missed", Cell(study="sizes", data="gaussian", contender=name, m=spec.ONE_M, n=n)
            )
            for n in spec.SIZES
        }
        drawing.plot(axes, Curve.of(samples), LOOKS[name], least=LEAST_SHOWN["missed"])
    _finish(axes, "Gaussian, m = 9", "number of records", "missed points per quantile")
    axes.set_xscale("log")
    drawing.named_ticks(axes, spec.SIZES, [f"{n:,}" for n in spec.SIZES])
    drawing.legend(figure, axes, columns=3)
    return figure


FIGURES: dict[str, Callable[[Results], Figure]] = {
    draw.__name__: draw
    for draw in (
        *(histograms, missed, distance, time, smoothness, shapes, bounds),
        *(many, tied, epsilon, neighbors, sizes),
    )
}


def draw_all(results: Results, folder: Path) -> None:
    """Every figure, as SVG and PNG."""
    with drawing.styled():
        for name, draw in FIGURES.items():
            drawing.save(draw(results), folder / name)
