"""The picture of small data: what the default call does, told nothing, at a hundred to a thousand.

    python -m experiments.small_data_figure [--cells build/small_data/cells.json]
                                            [--figure docs/images/small_data.svg]

Deciles for epsilon = 1, from the cells that `experiments.small_data` keeps. The others were told
the range of the very records.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks import figure
from benchmarks.figure import BLUE, GREEN, VERMILION, Curve, Look, Panel
from experiments.peers.contenders import OURS

LOOKS = {
    OURS: Look("dpquantiles, told nothing", BLUE, width=2.8),
    "paper's JointExp, range": Look("the paper, told the range", VERMILION),
    "AppIndExp, range": Look("ε split, told the range", GREEN),
}
SHOWN = {
    "normal": "Normal numbers",
    "prices": "Prices ending in .99",
    "hours": "Hours worked",
    "flights_arr_delay": "Flight delays in minutes",
}
"""Smooth and rounded, made up and real."""

LEAST = 0.1
"""Smaller errors, in ranks, are drawn as this one."""


def curves(cells: Sequence[Mapping[str, Any]], data: str) -> Panel:
    """The errors of deciles by the number of records."""
    rows = [cell for cell in cells if cell["data"] == data and cell["asked"] == "9"]
    sizes = [cell["n"] for cell in rows]
    made = {}
    for name in LOOKS:
        errors = [cell["errors"][name] for cell in rows]
        means = np.maximum([error["mean"] for error in errors], LEAST)
        made[name] = Curve(sizes, means, np.array([error["standard_error"] for error in errors]))
    return made


def draw(cells: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A panel for each kind of data."""
    shown = {data: title for data, title in SHOWN.items() if any(c["data"] == data for c in cells)}
    with mpl.rc_context(figure.STYLE):
        canvas, axes = plt.subplots(2, 2, figsize=(8, 6.6), sharey=True, layout="constrained")
        for panel, (data, title) in zip(axes.flat, shown.items(), strict=True):
            found = curves(cells, data)
            for name, curve in found.items():
                figure.plot(panel, curve, LOOKS[name])
            figure.log_axes(panel, xticks=found[OURS].x)
            panel.set_ylim(LEAST, 200.0)
            paper = figure.comparison(found[OURS], found["paper's JointExp, range"])
            panel.set_title(f"{title}:\n{paper} the paper at {max(found[OURS].x):,}")
            panel.set_xlabel("records")
        canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
        for panel in axes[:, 0]:
            panel.set_ylabel("mean error of deciles, in ranks")
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        canvas.savefig(path.with_suffix(".png"), dpi=160)
        plt.close(canvas)


def main() -> None:
    """Read the cells and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=Path, default=Path("build/small_data/cells.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/small_data.svg"))
    options = parser.parse_args()
    draw(json.loads(options.cells.read_text(encoding="utf-8")), options.figure)


if __name__ == "__main__":
    main()
