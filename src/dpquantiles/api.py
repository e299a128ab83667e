"""The public functions: quantiles and its short forms."""

from collections.abc import Iterable
from typing import Any

from dpquantiles import engine, entropy, privacy, require
from dpquantiles.grid import Grid
from dpquantiles.release import Release


def quantiles(
    data: Any,
    q: float | str | Iterable[float],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    resolution: Any = None,
    grid: Grid | None = None,
    neighbors: str = "swap",
    size: int | None = None,
    missing: Any = None,
    mechanism: str = "auto",
    rng: Any = None,
) -> Release:
    """Private quantiles of one column, all of them together for one epsilon.

    Args:
        data: A NumPy array, a list, or a column of pandas, Polars, PyArrow or any other library
            that Narwhals knows. Numbers, booleans, decimals, dates, datetimes or durations.
        q: Quantiles between 0 and 1, in any order, or "median", "quartiles", "deciles",
            "percentiles".
        epsilon: The privacy budget: one record changes the odds of any answer by at most a
            factor exp(epsilon).
        delta: With epsilon, for mechanisms that promise (epsilon, delta): the chance of a worse
            case; far below one over the number of records.
        rho: In place of epsilon, a budget of zero-concentrated differential privacy.
        bounds: Where values may lie, known without looking at the data. Not needed, but they
            help when data are few. Values outside are clamped.
        resolution: The distance between neighboring answers; by default one unit of the type,
            and for real numbers so small that it does not matter.
        grid: A grid to use in place of bounds and resolution. It also states the type of a list,
            which otherwise only the types of its records tell.
        neighbors: "swap" protects the value of a record, and the number of records is public;
            "add-remove" protects also whether a record is there.
        size: Under add-remove, the public (approximate) number of records. Without it, a fifth
            of epsilon buys a private count.
        missing: What stands in for missing values: "lower", "upper", a value, or "drop" (under
            add-remove only, where it is the default; under swap the default is "upper").
        mechanism: The algorithm, by name. "auto" takes the one that `plan` expects to be accurate
            whatever the data are like, from public numbers alone; the release says which and why.
        rng: None for secure random bits from the operating system. A `random.Random(seed)`
            makes the result reproducible, and then it has no guarantee.

    Returns:
        A `Release` with the answers in the order of `q` and in the type of the data.
    """
    request = engine.Request(
        q=require.quantiles(q=q),
        budget=privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors),
        bounds=bounds,
        resolution=resolution,
        grid=grid,
        size=size,
        missing=missing,
        mechanism=mechanism,
    )
    return engine.run(data, request, entropy.require_bits(rng=rng))


def median(data: Any, **options: Any) -> Release:
    """The private median; options as in `quantiles`."""
    return quantiles(data, "median", **options)


def quartiles(data: Any, **options: Any) -> Release:
    """The three private quartiles; options as in `quantiles`."""
    return quantiles(data, "quartiles", **options)


def deciles(data: Any, **options: Any) -> Release:
    """The nine private deciles; options as in `quantiles`."""
    return quantiles(data, "deciles", **options)


def percentiles(data: Any, p: float | Iterable[float], **options: Any) -> Release:
    """Private percentiles, `p` between 0 and 100; options as in `quantiles`."""
    return quantiles(data, require.percentages(p=p), **options)
