"""Forecasts: what a job would read, and how accurate it would be; no record is read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dpquantiles import cautions, privacy, written
from dpquantiles.forking import cached_property
from dpquantiles.grid import Grid
from dpquantiles.intervals import Intervals
from dpquantiles.job import USUAL_GROUP, Job
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.planner import AUTO, Choice, SourceKind, answers
from dpquantiles.planner.choice import UNKNOWN_SIZE, table_errors
from dpquantiles.planner.estimates import Estimate, estimate
from dpquantiles.planner.plans import Plan, other_draws, planned, unsuited
from dpquantiles.planner.reference import Reference, extent, reference
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.run import GriddedColumn, check_drawable, declared_columns, open_job
from dpquantiles.sources.source import Opened


class Draw(NamedTuple):
    """The public numbers of one draw, as far as they are known before it."""

    budget: Guarantee
    """What the answers get; a count of the records may have taken its part."""
    size: int
    sized: bool
    """Whether the number of records is public, stated or bought."""
    notes: Sequence[str] = ()
    """What had to be assumed."""


class Request(NamedTuple):
    """All that the errors of one mechanism follow from; it can be sent to another process."""

    mechanism: str
    budget: Guarantee
    q: tuple[float, ...]
    view: Reference
    intervals: Intervals | None
    sized: bool
    draws: int | None = None

    def estimate(self) -> Estimate:
        """Expected and 95% errors, from draws on made-up records."""
        return estimate(
            self.mechanism,
            self.budget,
            self.q,
            self.view,
            self.draws,
            self.intervals,
            sized=self.sized,
        )


@dataclass(frozen=True)
class Forecast:
    """A job of one column with its grid, and the number of rows where it is public and known."""

    job: Job
    grid: Grid
    column: GriddedColumn | None = None
    """The column, where its type is declared."""
    rows: int | None = None
    guess: int | None = None
    """How many records there may be, for a plan that would have to assume a number."""
    place: SourceKind | None = None
    """Where the records are; None for groups, whose choice does not depend on it."""

    @classmethod
    def of(cls, job: Job, guess: int | None = None) -> "Forecast":
        """Open the data by their schema, and refuse a job that cannot work."""
        opened, grouping = open_job(job)
        check_drawable(job, opened, grouping)
        return cls._of(job, opened, guess)

    @classmethod
    def declared(cls, job: Job, guess: int | None = None) -> "Forecast":
        """The same without a draw on dummy records, which may take long."""
        return cls._of(job, open_job(job)[0], guess)

    @classmethod
    def _of(cls, job: Job, opened: Opened, guess: int | None) -> "Forecast":
        ((name, column),) = declared_columns(job, opened).items()
        public = job.budget.neighbors is Neighbors.SWAP and job.units.column is None
        rows = opened.rows() if column and public else None
        stated = (job.data.type, job.bounds.get(name), job.resolution)
        grid = written.stated_grid(*stated) if column is None else column.grid
        place = None if job.by else opened.place
        return cls(job, grid, column, rows, guess, place)

    @cached_property
    def draw(self) -> Draw:
        """The public numbers of a draw; an unknown number of records is assumed, with a note."""
        job, budget = self.job, self.job.price.draw
        rows = None if job.by else self.rows
        n = rows if job.typical_size is None else job.typical_size
        if n is not None:
            return Draw(budget, max(1, n), True)
        swap = budget.neighbors is Neighbors.SWAP
        n = self.guess or (USUAL_GROUP if job.by and swap else UNKNOWN_SIZE)
        what = "size of a group" if job.by else "number of records"
        notes = [f"the {what} is not known; {n:,} is assumed"]
        if self.guess:
            notes = [f"{n:,} {'records in a group' if job.by else 'records'} assumed, as stated"]
        sized = swap or not job.does_without_size(self.grid)
        if not sized:
            notes.append(
                "joint_exp needs no count of the records for these quantiles; others buy one"
            )
        elif not swap:
            _, budget = budget.split(COUNT_SHARE)
            notes.append("a fifth of the budget buys a count; errors are those of the rest")
        return Draw(budget, max(1, n), sized, notes)

    @cached_property
    def choice(self) -> Choice:
        """What auto chooses for these numbers, and why."""
        asked = self.job.mechanism == AUTO
        job = self.job if asked else replace(self.job, mechanism=AUTO)
        return job.choose(self.draw.size, self.grid, self.place)

    @property
    def mechanism(self) -> str:
        """The mechanism that is named, or that auto chooses."""
        return self.choice.mechanism if self.job.mechanism == AUTO else self.job.mechanism

    @cached_property
    def view(self) -> Reference:
        """The made-up records that stand for the data: evenly spread."""
        return reference("even", self.draw.size, self.grid)

    @property
    def request(self) -> Request:
        """What the errors of this very job follow from."""
        draw, job = self.draw, self.job
        return Request(self.mechanism, draw.budget, job.q, self.view, job.intervals, draw.sized)

    @property
    def others(self) -> dict[str, Request]:
        """The same for all mechanisms that a plan compares."""
        draw, m = self.draw, answers(self.job.q, self.job.intervals)
        return {
            name: self.request._replace(mechanism=name, draws=other_draws(registered, m))
            for name, registered in registry.REGISTERED.items()
            if not unsuited(registered, draw.budget, m)
        }

    @property
    def table_errors(self) -> dict[str, float] | None:
        """Mean rank errors by the kind of the data, from the table behind the choice."""
        m = answers(self.job.q, self.job.intervals)
        return table_errors(self.mechanism, self.draw.budget, m, self.draw.size, self.grid)

    def at(self, epsilon: float) -> "Forecast":
        """The same job at another epsilon, on no account."""
        now = self.job.budget
        delta = getattr(now, "delta", None)
        budget = privacy.budget(epsilon=epsilon, delta=delta, neighbors=now.neighbors)
        return replace(self, job=replace(self.job, budget=budget, account=None))

    def plan(self) -> Plan:
        """The errors of all mechanisms."""
        draw, job = self.draw, self.job
        return planned(
            draw.budget,
            job.q,
            self.view,
            draw.size,
            job.intervals,
            chosen=self.choice,
            sized=draw.sized,
            extent=extent(self.grid, None),
        )

    def warnings(self) -> Sequence[str]:
        """What public numbers say against the job."""
        rows = None if self.job.by else self.rows
        n = UNKNOWN_SIZE if rows is None else rows
        mechanism = self.job.choose(n, self.grid, self.place).mechanism
        told = cautions.for_column(self.job, mechanism, rows, self.grid)
        warnings: Sequence[str] = told.get("warnings", ())
        return warnings
