"""What was found, by question: rows of all batches of a cell put together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from experiments.paper.data import DATASETS, PAPER_BOUNDS, Bounds, Floats, Tables
from experiments.paper.runs import RECORDS, Timing, Trials
from experiments.paper.tuning import Shape, Tuned
from experiments.rows import Found, Rows, key

ERRORS = ("missed", "distance")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A question to one contender: everything of a run but its trials and tuned parameters."""

    study: str
    data: str
    contender: str
    m: int
    n: int = RECORDS
    epsilon: float = 1.0
    bounds: Bounds | None = PAPER_BOUNDS
    neighbors: str = "swap"


class Results:
    """The rows at hand, the tuned parameters, and which data sets were used."""

    def __init__(
        self, rows: Rows, runs: Iterable[Trials | Timing], tuned: Tuned, tables: Tables
    ) -> None:
        self.tuned, self.tables = tuned, tables
        self._trials: dict[tuple[Cell, Shape | None], list[tuple[int, Found]]] = {}
        self._times: dict[tuple[str, int, int], Found] = {}
        for run in runs:
            found = rows.get(key(run))
            if found is None:
                continue
            if isinstance(run, Timing):
                self._times[run.contender, run.n, run.m] = found
            else:
                place = (_cell(run), run.shape)
                self._trials.setdefault(place, []).append((run.first, found))

    def errors(self, error: str, cell: Cell) -> Floats:
        """The errors of all trials in order; none where the cell was refused or not measured."""
        shape = None
        if cell.contender == "AggTree" and self.tuned.shapes[error]:
            shape = self.tuned.shapes[error][cell.m - 1]
        found = sorted(self._trials.get((cell, shape), []), key=lambda pair: pair[0])
        return np.array([value for _, row in found for value in row.get(error, ())])

    def refused(self, cell: Cell) -> bool:
        """Whether the contender says that these public numbers do not suit it."""
        return any("refused" in row for _, row in self._trials.get((cell, None), []))

    def times(self, contender: str, n: int, m: int) -> tuple[Floats, Floats]:
        """Seconds of the contender and of sorting, round by round."""
        found = self._times.get((contender, n, m), {"seconds": [], "sort": []})
        return np.array(found["seconds"]), np.array(found["sort"])

    def title(self, wanted: str) -> str:
        """The name of the data set that was used, and for what it stands in."""
        name = self.tables.name(wanted)
        title = DATASETS[name].title
        return title if name == wanted else f"{title} (for {DATASETS[wanted].title})"


def _cell(run: Trials) -> Cell:
    return Cell(
        study=run.study,
        data=run.data,
        contender=run.contender,
        m=run.m,
        n=run.n,
        epsilon=run.epsilon,
        bounds=run.bounds,
        neighbors=run.neighbors,
    )
