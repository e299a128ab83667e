"""What public numbers say about the answers of a job: expected errors, and warnings."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dpquantiles.grid import Grid
from dpquantiles.job import Job
from dpquantiles.planner import answers, expected_error
from dpquantiles.planner.choice import digits
from dpquantiles.privacy import Neighbors

if TYPE_CHECKING:
    from dpquantiles.planner.estimates import Estimate

MOST_USEFUL_EPSILON = 20.0
"""A larger epsilon gets a warning."""

TOLERABLE = 0.25
"""An expected error of more than this share of the distance between quantiles gets a warning."""

ALMOST = 1 - 2.0**-20
"""Errors that are equal but for rounding count as equal."""

HELP = "To do better, use a larger epsilon, ask for fewer quantiles, or state bounds."


def for_column(job: Job, mechanism: str, n: int | None, grid: Grid) -> dict[str, Any]:
    """Expected errors and warnings of a release from n records, where that number is public."""
    size = n if job.budget.neighbors is Neighbors.SWAP else job.typical_size
    if size == 0:
        return _stated(job, ["There are no records, so the answers are noise."])
    if size is None:
        return _stated(job, _extremes(job))
    from dpquantiles.planner.estimates import expected_errors  # only a release needs it

    expected = expected_errors(mechanism, job.price.draw, job.q, size, grid, job.intervals)
    accuracy = {} if expected is None else {"expected": _plain(expected)}
    return {**accuracy, **for_errors(job, mechanism, size, grid, expected)}


def for_errors(
    job: Job, mechanism: str, size: int, grid: Grid, expected: "Estimate | None"
) -> dict[str, Any]:
    """The warnings of a release, given its expected errors; without them, by the table."""
    error = _table_error(job, mechanism, size, grid) if expected is None else expected.mean
    sentences = [*_extremes(job), *_tails(job, size, expected), *_crowded(job, size, error)]
    return _stated(job, [*sentences, HELP] if sentences else [])


def _plain(expected: "Estimate") -> dict[str, object]:
    """Expected errors as plain values, rounded to what they are good for."""
    return {
        "rank_errors": list(_two_digits(expected.expected)),
        "rank_errors_95": list(_two_digits(expected.bound)),
        "if": "records are evenly spread",
    }


@lru_cache(maxsize=256)
def _two_digits(errors: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(f"{error:.2g}") for error in errors)


def _extremes(job: Job) -> list[str]:
    if 0.0 not in job.q and 1.0 not in job.q:
        return []
    return [
        "The quantiles 0 and 1 are single records, which privacy hides: their answers may lie far "
        "outside the data."
    ]


def _tails(job: Job, size: int, expected: "Estimate | None") -> list[str]:
    """A warning about quantiles that are nearer to an end of the data than their error."""
    if expected is None:
        return []
    # An answer outside the data is off by just as many records as lie beyond.
    near = {
        q: bound
        for q, bound in zip(job.q, expected.bound, strict=True)
        if 0 < q < 1 and bound >= _room(q, size) * ALMOST
    }
    if not near:
        return []
    beyond = digits(min(_room(q, size) for q in near))
    lie = "lies" if beyond == "1" else "lie"
    return [
        f"The answer{'' if len(near) == 1 else 's'} for "
        f"{', '.join(f'{q:g}' for q in sorted(near))} may "
        f"lie outside the data: only {beyond} of {size:,} records {lie} beyond, and answers may be "
        f"off by up to {digits(max(near.values()))} records."
    ]


def _room(q: float, size: int) -> float:
    """How many records lie beyond a quantile."""
    return min(q, 1 - q) * size


def _crowded(job: Job, size: int, error: float | None) -> list[str]:
    """A warning about an error that is too large to tell neighboring quantiles apart."""
    apart = _apart(job, size)
    if error is None or error <= TOLERABLE * apart:
        return []
    far = ", so answers may lie far outside the data" if error > apart else ""
    return [
        f"Expect answers to be off by about {digits(error)} of {size:,} records; the quantiles "
        f"are only about {digits(apart)} records apart{far}."
    ]


def for_groups(job: Job, mechanism: str, sizes: Sequence[int | None], grid: Grid) -> dict[str, Any]:
    """The warnings of a release by group, from sizes that are public; bought ones do not count."""
    bought = job.budget.neighbors is Neighbors.ADD_REMOVE and job.size is None
    public = [] if bought else [size for size in sizes if size is not None]
    few = {
        size
        for size in set(public)
        if not size or _crowded(job, size, _table_error(job, mechanism, size, grid))
    }
    count = sum(size in few for size in public)
    sentences = []
    if few:
        verb = "has" if count == 1 else "have"
        how_few = f"{min(few):,}" if len(few) == 1 else f"{min(few):,} to {max(few):,}"
        sentences.append(
            f"{count:,} of {len(sizes):,} groups {verb} so few records ({how_few}) that the "
            f"answers may lie far outside the data. {HELP}"
        )
    # Any number of groups may be shown, even none, so one more size decides whether it is stated.
    known = {size: _share(job, mechanism, size, grid) for size in {1, *sizes}}
    stated = None not in known.values()
    quality = {"expected_errors": [known[size] for size in sizes]} if stated else {}
    return {**quality, **_stated(job, sentences)}


def _share(job: Job, mechanism: str, size: int | None, grid: Grid) -> float | None:
    """The expected rank error as a share of the size, public or private; at most one."""
    error = None if size is None else _table_error(job, mechanism, max(1, size), grid)
    return None if error is None or size is None else float(f"{min(1, error / max(1, size)):.2g}")


def _table_error(job: Job, mechanism: str, size: int, grid: Grid) -> float | None:
    """The rank error of the least suitable records, by the table behind the choice."""
    drawn = answers(job.q, job.intervals)
    return expected_error(mechanism, job.price.draw, drawn, size, grid)


def _apart(job: Job, size: int) -> float:
    """How many records lie between neighboring quantiles, on average."""
    return size / (len(set(job.q)) + 1)


def _stated(job: Job, sentences: list[str]) -> dict[str, Any]:
    if job.budget.measure == "epsilon" and job.budget.amount > MOST_USEFUL_EPSILON:
        usual = "protects almost nothing; values around 1 are typical."
        sentences = [f"An epsilon of {job.budget.amount:g} {usual}", *sentences]
    return {"warnings": sentences} if sentences else {}
