"""The public functions: quantiles and its short forms."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from dpquantiles import entropy, privacy, require
from dpquantiles.entropy import Bits
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.intervals import AskedIntervals, require_intervals
from dpquantiles.job import Account, Job
from dpquantiles.options import GroupOptions, Options
from dpquantiles.planner import AskedMechanism
from dpquantiles.privacy import NeighborsName, Units
from dpquantiles.require import AskedQuantiles
from dpquantiles.results import Description, GroupedRelease, Release
from dpquantiles.run import run

if TYPE_CHECKING:
    from dpquantiles.ledger import Ledger


@overload
def quantiles(data: Any, q: AskedQuantiles, **options: Unpack[Options]) -> Release: ...


@overload
def quantiles(data: Any, q: AskedQuantiles, **options: Unpack[GroupOptions]) -> GroupedRelease: ...


def quantiles(
    data: Any,
    q: AskedQuantiles,
    *,
    column: str | None = None,
    by: str | Iterable[str] | None = None,
    keys: Any = None,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    grid: Grid | None = None,
    neighbors: NeighborsName = "swap",
    size: int | Mapping[Any, int] | None = None,
    min_size: int | None = None,
    missing: Any = None,
    mechanism: AskedMechanism = "auto",
    intervals: AskedIntervals = None,
    rng: Bits | None = None,
    ledger: "Ledger | None" = None,
    dataset: str | None = None,
    part: str | None = None,
    request_id: str | None = None,
) -> Release | GroupedRelease:
    """Private quantiles of one column, all of them together for one epsilon.

    Args:
        data: A NumPy array, a list, or a column of pandas, Polars, PyArrow or any other library
            that Narwhals knows. Numbers, booleans, decimals, dates, datetimes or durations.
            With `column`, a table: of pandas, Polars (lazy too), PyArrow, DuckDB, PySpark, Ibis
            or Dask; or, through DuckDB, the name of Parquet or CSV files ("data/*.parquet") or a
            SQL query. Lazy tables, files and queries are scanned where they are.
        q: Quantiles between 0 and 1, in any order, or "median", "quartiles", "deciles",
            "percentiles".
        column: The name of the column, if data is a table.
        by: Columns that divide the table into groups; every group gets its own quantiles, and all
            of them together cost one budget.
        keys: With `by`, the groups to release, known without looking at the data: a list of keys
            (of tuples, if there are several columns) or a table with the columns of `by`. Or
            "private", under add-remove neighbors and with delta: groups are found in the data by
            a private selection, paid for by a fifth of epsilon and all of delta.
        unit: The column that says whom each row belongs to, such as a person. The guarantee then
            holds for all rows of a unit together. Rows without a name are one unit.
        max_rows_per_unit: How many rows of a unit count at most, chosen at random; 1 by default.
            More rows use more of the data, but with k of them the mechanism runs at epsilon / k.
        epsilon: The privacy budget: one record changes the odds of any answer by at most a
            factor exp(epsilon).
        delta: With epsilon, for mechanisms that promise (epsilon, delta): the chance of a worse
            case. Choose it far below one over the number of records.
        rho: Instead of epsilon, a budget of zero-concentrated differential privacy.
        bounds: Where values may lie, known without looking at the data. They are optional, but
            help when there are few records. Values outside are clamped.
        resolution: The distance between neighboring answers; by default the release finds it,
            together with the range, at no cost in budget.
        grid: A grid to use instead of bounds and resolution. It also states the type of a list,
            which otherwise follows from the types of its records.
        neighbors: "swap" protects the value of a record, and the number of records is public;
            "add-remove" also protects whether a record is there.
        size: Under add-remove, the public number of records; with `by`, that of every group, or a
            dictionary from keys to numbers. Answers are the quantiles at the ranks q times this
            number, even if it is wrong; ranks that no record has give the upper end of the grid.
            Without it, a fifth of epsilon buys a private count; one quantile, or two that are far
            apart, need none.
        min_size: With `by`, hide the groups whose size is smaller. Sizes are public under swap
            neighbors, stated by `size`, or private counts; then the hidden groups are those whose
            noisy count is smaller, and this costs nothing extra.
        missing: How missing values count: "drop", the default, leaves them out; "lower",
            "upper" or a value stands in for them. Under swap neighbors the public number of
            records includes them; how many there are is protected.
        mechanism: The algorithm, by name. "auto" chooses the one that `plan` expects to be accurate
            whatever the data is like, from public numbers alone; the release says which and why.
            With `by`, one is chosen for all groups.
        intervals: True to add intervals around the answers, for a third of the budget;
            `release.interval()` returns them. Or a level such as 0.9 instead of 0.95, "population"
            to cover sampling as well, or `Intervals(0.9, of="population")`. With `unit`, they are
            for the quantiles of the rows that count.
        rng: None for secure random bits from the operating system. A `random.Random(seed)`
            makes the result reproducible, but then it has no guarantee.
        ledger: A `Ledger` that is charged before data is read, and that keeps the release.
        dataset: With a ledger, the name of the data set that is charged.
        part: With a ledger, which part of the data set this is, such as "region=north". Parts of
            one partition are disjoint, so only the most costly of them counts.
        request_id: With a ledger, a name for this request. Repeated under the same name, it is not
            charged again and returns the same release.

    Returns:
        A `Release` with the answers in the order of `q` and in the type of the data; with `by`
        a `GroupedRelease`, whose `to_frame()` is a frame of the data's own library.
    """
    job = Job(
        data=data,
        columns=(column,),
        q=require.quantiles(q=q),
        budget=privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors),
        by=_names(by),
        keys=keys,
        units=_units(unit, max_rows_per_unit),
        bounds={} if bounds is None else {column: bounds},
        resolution=resolution,
        grid=grid,
        size=size,
        min_size=min_size,
        missing=missing,
        mechanism=mechanism,
        intervals=None if intervals is None else require_intervals(intervals),
        account=Account.of(ledger, dataset=dataset, part=part, request_id=request_id),
        bits=entropy.require_bits(rng=rng),
    )
    release: Release | GroupedRelease = run(job)  # type: ignore[assignment]
    return release


def _names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    names = tuple(by)
    if not names:
        raise InvalidValue("by must name at least one column, got none")
    return names


def _units(unit: str | None, max_rows_per_unit: int | None) -> Units:
    no_units = unit is None and max_rows_per_unit is None
    return Units() if no_units else Units.of(unit, max_rows_per_unit)


SUMMARY = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of a description, unless others are asked for."""


def describe(
    data: Any,
    columns: Iterable[str],
    *,
    q: AskedQuantiles = SUMMARY,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    neighbors: NeighborsName = "swap",
    size: int | None = None,
    missing: Any = None,
    mechanism: AskedMechanism = "auto",
    rng: Bits | None = None,
    ledger: "Ledger | None" = None,
    dataset: str | None = None,
    part: str | None = None,
    request_id: str | None = None,
) -> Description:
    """Private quantiles of several columns of a table, all of them for one budget.

    Every column gets an equal share of the budget, because all columns are about the same people.
    With `unit`, the same rows of a unit count in all columns. `bounds` is a dictionary from columns
    to pairs; columns may be left out of it. The other options are those of `quantiles`.

    Returns:
        A `Description`: one `Release` per column, and with `to_frame()` a table of them.
    """
    if isinstance(columns, str):
        raise InvalidValue(f"columns must be a list that names each column once, got {columns!r}")
    if bounds is not None and not isinstance(bounds, Mapping):
        raise InvalidType(
            "bounds must be a dictionary from columns to pairs (lower, upper), "
            f"got {require.shown(bounds)}"
        )
    job = Job(
        data=data,
        columns=tuple(columns),
        q=require.quantiles(q=q),
        budget=privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors),
        units=_units(unit, max_rows_per_unit),
        bounds=bounds or {},  # type: ignore[arg-type]
        size=size,
        missing=missing,
        mechanism=mechanism,
        account=Account.of(ledger, dataset=dataset, part=part, request_id=request_id),
        bits=entropy.require_bits(rng=rng),
        describes=True,
    )
    description: Description = run(job)  # type: ignore[assignment]
    return description


@overload
def median(data: Any, **options: Unpack[Options]) -> Release: ...


@overload
def median(data: Any, **options: Unpack[GroupOptions]) -> GroupedRelease: ...


def median(data: Any, **options: Any) -> Release | GroupedRelease:
    """The private median; options as in `quantiles`."""
    release: Release | GroupedRelease = quantiles(data, "median", **options)
    return release


@overload
def quartiles(data: Any, **options: Unpack[Options]) -> Release: ...


@overload
def quartiles(data: Any, **options: Unpack[GroupOptions]) -> GroupedRelease: ...


def quartiles(data: Any, **options: Any) -> Release | GroupedRelease:
    """The three private quartiles; options as in `quantiles`."""
    release: Release | GroupedRelease = quantiles(data, "quartiles", **options)
    return release


@overload
def deciles(data: Any, **options: Unpack[Options]) -> Release: ...


@overload
def deciles(data: Any, **options: Unpack[GroupOptions]) -> GroupedRelease: ...


def deciles(data: Any, **options: Any) -> Release | GroupedRelease:
    """The nine private deciles; options as in `quantiles`."""
    release: Release | GroupedRelease = quantiles(data, "deciles", **options)
    return release


@overload
def percentiles(data: Any, p: float | Iterable[float], **options: Unpack[Options]) -> Release: ...


@overload
def percentiles(
    data: Any, p: float | Iterable[float], **options: Unpack[GroupOptions]
) -> GroupedRelease: ...


def percentiles(data: Any, p: float | Iterable[float], **options: Any) -> Release | GroupedRelease:
    """Private percentiles, `p` between 0 and 100; options as in `quantiles`.

    The median is 50. Fractions of a percent alone, such as [0.5, 0.9], are refused, because they
    look like quantiles; for half a percent use `quantiles(data, [0.005])`.
    """
    release: Release | GroupedRelease = quantiles(data, require.percentages(p=p), **options)
    return release
