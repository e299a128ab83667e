"""Warnings: what public numbers say against trusting the answers of a job, and what would help."""

from collections.abc import Sequence

from dpquantiles.grid import Grid
from dpquantiles.job import Job
from dpquantiles.planner import answers, expected_error
from dpquantiles.privacy import Neighbors

MOST_USEFUL_EPSILON = 20.0
"""A larger epsilon gets a warning."""

TOLERABLE = 0.25
"""An expected error of more than this share of the distance between quantiles gets a warning."""

HELP = "A larger epsilon, bounds or fewer quantiles help."


def for_column(job: Job, mechanism: str, n: int | None, grid: Grid) -> dict[str, list[str]]:
    """The warnings of a release from n records, where that number is public, for its provenance."""
    size = n if job.budget.neighbors is Neighbors.SWAP else job.typical_size
    error = None if size is None else _error(job, mechanism, size, grid)
    sentences = []
    if size == 0:
        sentences.append("There are no records, so the answers are noise.")
    elif size and error:
        apart = _apart(job, size)
        far = "Answers may lie far outside the data: expect" if error > apart / 2 else "Expect"
        sentences.append(
            f"{far} errors of about {error:.2g} ranks of {size:,}, where even quantiles would be "
            f"{apart:.2g} apart. {HELP}"
        )
    return _stated(job, sentences)


def for_groups(
    job: Job, mechanism: str, sizes: Sequence[int | None], grid: Grid
) -> dict[str, list[str]]:
    """The warnings of a release by group, from sizes that are public; bought ones do not count."""
    bought = job.budget.neighbors is Neighbors.ADD_REMOVE and job.size is None
    public = [] if bought else [size for size in sizes if size is not None]
    few = {size for size in set(public) if not size or _error(job, mechanism, size, grid)}
    count = sum(size in few for size in public)
    sentences = []
    if few:
        sentences.append(
            f"In {count:,} of {len(sizes):,} groups there are so few records ({min(few):,} to "
            f"{max(few):,}) that answers may lie far outside the data. {HELP}"
        )
    return _stated(job, sentences)


def _error(job: Job, mechanism: str, size: int, grid: Grid) -> float | None:
    """The expected rank error, if it is too large to tell neighboring quantiles apart."""
    drawn = answers(job.q, job.intervals)
    error = expected_error(mechanism, job.price.draw, drawn, size, grid)
    return None if error is None or error <= TOLERABLE * _apart(job, size) else error


def _apart(job: Job, size: int) -> float:
    """How many ranks even quantiles would be apart."""
    return size / (len(set(job.q)) + 1)


def _stated(job: Job, sentences: list[str]) -> dict[str, list[str]]:
    if job.budget.measure == "epsilon" and job.budget.amount > MOST_USEFUL_EPSILON:
        usual = "protects next to nothing; values around 1 are usual."
        sentences = [f"An epsilon of {job.budget.amount:g} {usual}", *sentences]
    return {"warnings": sentences} if sentences else {}
