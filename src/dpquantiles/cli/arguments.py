"""Arguments as values: each function turns text into a value, or raises an error that helps."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpquantiles import privacy, require
from dpquantiles.cli import screen
from dpquantiles.errors import InvalidValue, MissingBackend
from dpquantiles.intervals import DATA, SUBJECTS, Intervals, require_level
from dpquantiles.privacy import Guarantee
from dpquantiles.sources.cells import parse
from dpquantiles.sources.named import Dialect

PRINTED = ("text", "json", "csv", "md", "html", "svg")
"""The formats that can be printed; files can have one more."""

PARQUET, PARQUET_LIBRARIES = "parquet", ("pyarrow", "polars")
SUFFIXES = {".txt": "text", **{f".{name}": name for name in (*PRINTED[1:], PARQUET)}}

MOST_DIGITS = 1000
"""Longer numbers would take long to become whole ones."""

MOST_QUANTILES = 100_000
"""The most quantiles that one range may stand for."""


def quantiles(text: str) -> tuple[float, ...]:
    """Numbers, percentiles, names and ranges, separated by commas; each quantile once."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    return require.quantiles(q=list(dict.fromkeys(q for item in items for q in _item(item))))


def _item(text: str) -> Iterator[float]:
    if ":" in text:
        yield from _range(text)
    elif re.fullmatch(r"[pP][\d.]+", text):
        yield float(_decimal(text[1:]) / 100)
    elif text[0].isalpha() and parse(text, "float") is None:
        yield from require.quantiles(q=text)
    else:
        number = _decimal(text)
        if number.is_finite() and 1 < number <= 100:
            raise InvalidValue(
                f"q must lie between 0 and 1, got {text}; the percentile is p{text}, which is "
                f"{number / 100:f} as a quantile"
            )
        yield float(number)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidValue(
            f"q must be numbers between 0 and 1, percentiles, names or ranges, separated by "
            f"commas, got {text!r}; for example 0.25,0.5,0.75 or p99.9 or deciles or 0.1:0.9:0.1"
        ) from None


def _range(text: str) -> Iterator[float]:
    """start:stop:step with both ends, in exact decimals: 0.1:0.9:0.1 gives the nine deciles."""
    parts = [_decimal(part.strip()) for part in text.split(":")]
    if len(parts) != 3 or not all(part.is_finite() for part in parts):
        raise InvalidValue(f"q must give ranges as start:stop:step, got {text!r}")
    start, stop, step = parts
    if step <= 0 or stop < start:
        raise InvalidValue(f"q must give ranges that ascend, start <= stop, step > 0, got {text!r}")
    if stop - start > step * MOST_QUANTILES:
        raise InvalidValue(f"q must be at most {MOST_QUANTILES} quantiles, got {text!r}")
    for k in range(int((stop - start) / step) + 1):
        yield float(start + k * step)


def epsilon(text: str) -> float:
    """The privacy budget as one number."""
    return require.positive(epsilon=number("epsilon", text, "1"))


def budget(epsilon: str | None, delta: str | None, rho: str | None, neighbors: str) -> Guarantee:
    """The privacy budget: epsilon, epsilon and delta, or rho."""
    if epsilon is None and rho is None:
        raise InvalidValue("epsilon must be given, for example --epsilon 1 (or --rho 0.5)")
    return privacy.budget(
        epsilon=None if epsilon is None else number("epsilon", epsilon, "1"),
        delta=None if delta is None else number("delta", delta, "1e-6"),
        rho=None if rho is None else number("rho", rho, "0.5"),
        neighbors=neighbors,
    )


def intervals(level: str | None, of: str) -> Intervals | None:
    """Intervals at a level, of the data or of the population."""
    subject = require.choice(SUBJECTS, intervals_of=of)
    if level is None:
        if subject != DATA:
            raise InvalidValue(f"intervals must be given with intervals-of, got {of!r} alone")
        return None
    return Intervals(require_level(intervals=number("intervals", level, "0.95")), subject)


def number(parameter: str, text: str, example: str) -> float:
    """One number."""
    parsed = parse(text, "float")
    if parsed is None:
        raise InvalidValue(
            f"{parameter} must be a positive, finite number, got {text!r}; try {example}"
        )
    return float(parsed)


def whole(parameter: str, text: str) -> int:
    """A whole number, which may be written as 1000000, 1_000_000 or 1e6."""
    try:
        number = Decimal(text)
        if number.is_finite() and number.adjusted() <= MOST_DIGITS and number == int(number):
            return int(number)
    except InvalidOperation:
        pass
    raise InvalidValue(f"{parameter} must be a whole number, got {text!r}")


def dialect(
    delimiter: str | None, decimal: str, thousands: str | None, na: Iterable[str] | None
) -> Dialect:
    """How CSV files are written; a tab may be typed by its name, or as in Python."""
    tab = delimiter is not None and delimiter.lower() in ("\\t", "tab")
    return Dialect("\t" if tab else delimiter, decimal, thousands, tuple(na or ()))


class Outputs(NamedTuple):
    """Where a result goes: to stdout in one format, or not at all, and to files by format."""

    printed: str | None
    files: Mapping[Path, str]


def outputs(
    format: str | None,
    output: Sequence[Path] | None,
    plot: Path | None,
    *,
    force: bool,
    inputs: Iterable[object],
) -> Outputs:
    """Outputs that can be written; the files that a result is made from are never written over."""
    if plot is not None and plot.suffix.lower() != ".svg":
        raise InvalidValue(f"plot must end in .svg, got '{plot}'; for other formats use -o")
    paths = [*(output or ()), *([] if plot is None else [plot])]
    files = {path: _suffix_format(path) for path in paths}
    if len({path.resolve() for path in paths}) < len(paths):
        raise InvalidValue("output must name each file once")
    own = {Path(str(name)).resolve() for name in inputs if name is not None}
    for path in files:
        if path.resolve() in own:
            raise InvalidValue(f"output must not be a file that it is made from, got '{path}'")
        _require_free(path, force=force)
    if PARQUET in files.values() and not any(map(find_spec, PARQUET_LIBRARIES)):
        raise MissingBackend("Parquet files need a library: pip install 'dpquantiles[pyarrow]'")
    if format is not None:
        return Outputs(require.choice(PRINTED, format=format), files)
    return Outputs(None if output else "text" if screen.is_terminal() else "json", files)


def _suffix_format(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"output must end in one of {', '.join(SUFFIXES)}, got '{path}'")
    return SUFFIXES[path.suffix.lower()]


def _require_free(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, and one that cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder; name a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': there is no folder '{path.parent}'")
    try:
        with beside(path).open("xb"):
            pass
        beside(path).unlink()
    except OSError as error:
        raise screen.unwritable(path, error) from None
    if path.exists() and not force:
        raise FileExistsError(f"'{path}' already exists; name another file, or add --force")


def beside(path: Path) -> Path:
    """The file that stands in for another one until it is complete."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")
