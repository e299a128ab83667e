"""What was found, by question: rows of all batches of a cell put together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from experiments.paper import spec, tuning
from experiments.paper.cells import Cell
from experiments.paper.data import DATASETS, Floats, Tables
from experiments.paper.runs import Timing, Trials
from experiments.paper.scale import Scale
from experiments.paper.tuning import Shape, Tuned
from experiments.rows import Found, Rows, key

ERRORS = ("missed", "distance")


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything that was found: what figures are drawn from and claims are computed from."""

    tables: Tables
    tuned: Tuned
    smoothness: dict[int, Floats] = field(default_factory=dict)
    """The best t of CSmooth by m: one line per set of records, one column per quantile."""
    wide_smoothness: list[float] = field(default_factory=list)
    """The best t of a wide range, of all data sets together."""
    tree_checks: dict[str, dict[Shape, Floats]] = field(default_factory=dict)
    """Errors of trees on fresh records by error and shape: a line per trial, a column per m."""
    trials: dict[tuple[Cell, Shape | None], list[tuple[int, Found]]] = field(default_factory=dict)
    timings: dict[tuple[str, int, int], Found] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, scale: Scale, tables: Tables) -> "Results":
        """What the rows say about the runs of this scale."""
        tuned = tuning.chosen(rows, scale)
        wide = tuning.smoothness(rows, tuning.wide_smooth_runs(scale, tables))
        checks = tuning.tree_checks(scale)
        results = cls(
            tables=tables,
            tuned=tuned,
            smoothness=tuning.smoothness(rows, tuning.smooth_runs(scale)),
            wide_smoothness=[float(t) for lines in wide.values() for t in lines.flat],
            tree_checks={error: tuning.tree_errors(rows, checks, error) for error in ERRORS},
        )
        results.add(rows, spec.trial_runs(scale, tables, tuned))
        results.add(rows, spec.timing_runs(scale, tuned))
        return results

    def add(self, rows: Rows, runs: Iterable[Trials | Timing]) -> None:
        """The rows of these runs, as far as there are any."""
        for run in runs:
            found = rows.get(key(run))
            if found is None:
                continue
            if isinstance(run, Timing):
                self.timings[run.contender, run.n, run.m] = found
            else:
                place = (run.cell, run.shape)
                self.trials.setdefault(place, []).append((run.first, found))

    def errors(self, error: str, cell: Cell) -> Floats:
        """The errors of all trials in order; none where the cell was refused or not measured."""
        shape = None
        if cell.contender == "AggTree" and self.tuned.shapes[error]:
            shape = self.tuned.shapes[error][cell.m - 1]
        found = sorted(self.trials.get((cell, shape), []), key=lambda pair: pair[0])
        return np.array([value for _, row in found for value in row.get(error, ())])

    def curves(self, error: str, panel: str, names: tuple[str, ...]) -> dict[str, Floats]:
        """Errors of contenders: a line per trial, a column per m; nothing unless all are there."""
        data, found = self.tables.name(panel), {}
        for name in names:
            cells = [Cell(study="accuracy", data=data, contender=name, m=m) for m in tuning.COUNTS]
            columns = [self.errors(error, cell) for cell in cells]
            if len({len(column) for column in columns}) != 1:
                return {}
            found[name] = np.array(columns).T
        return found

    def times(self, contender: str, n: int, m: int) -> tuple[Floats, Floats]:
        """Seconds of the contender and of sorting, round by round."""
        found = self.timings.get((contender, n, m), {"seconds": [], "sort": []})
        return np.array(found["seconds"]), np.array(found["sort"])

    def title(self, wanted: str) -> str:
        """The name of the data set that was used, and for what it stands in."""
        name = self.tables.name(wanted)
        title = DATASETS[name].title
        return title if name == wanted else f"{title} (for {DATASETS[wanted].title})"
