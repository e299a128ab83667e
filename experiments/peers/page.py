"""The page and the file of all cells: the count of lost cells first, then the worst, then all."""

import itertools
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from experiments.everyday_data import Column
from experiments.peers.contenders import ENTRIES, OURS, version
from experiments.peers.verdict import Cell, Errors, Measure, mean, standard_error

PEERS = [name for name, entry in ENTRIES.items() if not entry.ours and not entry.weaker]
WITH_WEAKER = [name for name, entry in ENTRIES.items() if not entry.ours]
MOST_LISTED = 20
MANY_TIMES = 100
MEASURES: dict[Measure, str] = {
    "ranks": "Rank error",
    "values": "Relative error of tails in value (1000% at most)",
}


def figure(errors: Errors, measure: Measure) -> str:
    """A mean and its standard error."""
    if measure == "values":
        return f"{mean(errors):.0%} ± {standard_error(errors):.0%}"
    return f"{mean(errors):.1f} ± {standard_error(errors):.1f}"


def asked(cell: Cell) -> str:
    return cell.asked if cell.asked.startswith("p") else f"m = {cell.asked}"


def shown(cell: Cell, name: str, notes: Mapping[str, str]) -> str:
    """One entry of the table: bold for the best, a cross where ours is lost."""
    if not cell.errors.get(name):
        return notes.get(name, "refuses")
    text = figure(cell.errors[name], cell.measure)
    if name == OURS and cell.lost(OURS, PEERS):
        return text + " ✗"
    return f"**{text}**" if name == cell.best(PEERS) else text


def tables(cells: Sequence[Cell], notes: Mapping[str, str]) -> list[str]:
    """One table for every measure and number of records: cells down, contenders across."""
    lines: list[str] = []
    for measure, n in itertools.product(MEASURES, sorted({cell.n for cell in cells})):
        here = [cell for cell in cells if (cell.measure, cell.n) == (measure, n)]
        if not here:
            continue
        lines += ["", f"### {MEASURES[measure]}, n = {n:,}", ""]
        lines += ["| data | quantiles | " + " | ".join(ENTRIES) + " |"]
        lines += ["|---" * (len(ENTRIES) + 2) + "|"]
        for cell in here:
            row = [cell.data, asked(cell), *(shown(cell, name, notes) for name in ENTRIES)]
            lines.append("| " + " | ".join(row) + " |")
    return lines


def lost(cells: Sequence[Cell], peers: Collection[str]) -> list[Cell]:
    """Where ours is behind, the worst first."""
    behind = [cell for cell in cells if cell.lost(OURS, peers)]
    return sorted(behind, key=lambda cell: -cell.gap(OURS, peers))


def counts(cells: Sequence[Cell]) -> list[str]:
    """The sentences that matter."""
    lines = []
    for measure, words in MEASURES.items():
        here = [cell for cell in cells if cell.measure == measure]
        if here:
            sentence = (
                f"- {words}: ours without bounds or resolution is more than 10% behind the best, "
                f"beyond two standard errors, in **{len(lost(here, PEERS))} of {len(here)}** cells "
                f"({len(lost(here, WITH_WEAKER))} where weaker promises count too)."
            )
            lines += textwrap.wrap(sentence, 100, subsequent_indent="  ")
    return lines


def standings(cells: Sequence[Cell]) -> list[str]:
    """In how many cells of rank errors everyone is behind the best of the others."""
    here = [cell for cell in cells if cell.measure == "ranks"]
    behind = {
        name: sum(cell.lost(name, [peer for peer in PEERS if peer != name]) for cell in here)
        for name in ENTRIES
        if any(cell.errors.get(name) for cell in here)
    }
    order = sorted(behind, key=lambda name: behind[name])
    return [
        "| | behind the best of the others in |",
        "|---|---|",
        *(f"| {name} | {behind[name]} of {len(here)} cells |" for name in order),
    ]


def worst(cells: Sequence[Cell]) -> list[str]:
    """The cells with the largest gaps."""
    lines = ["| data | n | quantiles | ours | best | of | ratio |", "|---" * 7 + "|"]
    for measure in MEASURES:
        here = lost([cell for cell in cells if cell.measure == measure], PEERS)
        for cell in here[:MOST_LISTED]:
            best = cell.best(PEERS)
            assert best is not None
            ours, theirs = cell.judged(OURS), cell.judged(best)
            figures = f"{figure(ours, measure)} | {figure(theirs, measure)} | {best}"
            lines.append(
                f"| {cell.data} | {cell.n:,} | {asked(cell)} | {figures} | {ratio(ours, theirs)} |"
            )
    return lines


def ratio(ours: Errors, theirs: Errors) -> str:
    """How many times more error; beyond a hundred it says only that they have next to none."""
    many = mean(ours) > MANY_TIMES * mean(theirs)
    return f"> {MANY_TIMES}" if many else f"{mean(ours) / mean(theirs):.1f}"


def page(
    cells: Sequence[Cell], columns: Mapping[str, Column], notes: Mapping[str, str]
) -> list[str]:
    """Everything."""
    trials = [len(errors) for cell in cells for errors in cell.errors.values() if errors]
    libraries = sorted({entry.library for entry in ENTRIES.values() if entry.library})
    used = [name for name in columns if name in {cell.data for cell in cells}]
    return [
        f"Mean errors ± standard errors for ε = 1 under swap neighbors, {min(trials)} to "
        f"{max(trials)} trials in each cell, fewer",
        "where they are slow, more where ours is not clearly the best. Ours knows nothing; all",
        "others know bounds and, where values are rounded, the resolution. Bold: the best of those",
        "with the same promise; ✗: ours is behind it. Every other trial names the best, and those",
        "in between say how far ours is behind, because the best of many is partly the luckiest.",
        f"Libraries: {', '.join(f'{name} {version(name)}' for name in libraries)}.",
        "",
        *counts(cells),
        "",
        "By the same rule for everyone, and rank errors alone:",
        "",
        *standings(cells),
        "",
        "The worst:",
        "",
        *worst(cells),
        "",
        "Contenders:",
        "",
        *(f"- {name}: {entry.words}" for name, entry in ENTRIES.items()),
        "",
        "Data:",
        "",
        *(f"- {name}: {columns[name].words}; {facts(columns[name])}" for name in used),
        *tables(cells, notes),
    ]


def facts(column: Column) -> str:
    """What others are told."""
    lower, upper = column.bounds
    step = "" if column.step is None else f", resolution {column.step:g}"
    return f"bounds [{lower:g}, {upper:g}]{step}"


def plain(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """All cells, for a file."""
    return [
        {
            "data": cell.data,
            "n": cell.n,
            "asked": asked(cell),
            "measure": cell.measure,
            "best": cell.best(PEERS),
            "lost": cell.lost(OURS, PEERS),
            "errors": {
                name: {
                    "mean": mean(errors),
                    "standard_error": standard_error(errors) if len(errors) > 1 else None,
                    "trials": len(errors),
                }
                for name, errors in cell.errors.items()
                if errors
            },
        }
        for cell in cells
    ]
