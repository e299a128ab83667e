"""The data sets: where records come from, what is public about them, and what stands in.

Columns that may not be shipped are read from files that the user names. Where one is absent or
cannot be read, another column stands in, and the page says so.
"""

import csv
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpquantiles.data import flight_delays

Floats = NDArray[np.float64]
Bounds = tuple[float, float]

PAPER_BOUNDS: Bounds = (-100.0, 100.0)
FEWEST_RECORDS = 1000
GOODREADS = "the data set Goodreads-books on Kaggle, jealousleopard/goodreadsbooks: books.csv"


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column in a file of the user: its header, its records' range, and where to get it."""

    header: str
    limits: Bounds
    source: str


COLUMNS = {
    "ratings": Column(header="average_rating", limits=(0, 5), source=GOODREADS),
    "pages": Column(header="num_pages", limits=(0, 100_000), source=GOODREADS),
    "hours": Column(
        header="hours_per_week",
        limits=(0, 168),
        source="the data set Adult of the UCI repository, column hours-per-week",
    ),
    "income": Column(
        header="PINCP",
        limits=(-100_000, 10_000_000),
        source="the American Community Survey 2019 of the US Census, column PINCP",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A way to draw records: a column to draw from without replacement, or a distribution."""

    title: str
    bounds: Bounds = PAPER_BOUNDS
    resolution: float | None = None
    """What is public about the spacing of values; None where there is none."""


DATASETS = {
    "gaussian": Dataset(title="Gaussian"),
    "uniform": Dataset(title="Uniform"),
    "ratings": Dataset(title="Goodreads ratings", resolution=0.01),
    "pages": Dataset(title="Goodreads pages / 100", resolution=0.01),
    "delays": Dataset(title="Flight delays, minutes / 100", resolution=0.01),
    "late": Dataset(title="Delays of late flights / 100", resolution=0.01),
    "standard": Dataset(title="N(0, 1), for tuning"),
    "hours": Dataset(title="Hours worked per week", bounds=(0.0, 168.0), resolution=1),
    "income": Dataset(title="Income in dollars", bounds=(-20_000.0, 1_000_000.0), resolution=1),
    "stars": Dataset(title="Goodreads ratings", bounds=(0.0, 5.0), resolution=0.01),
    "minutes": Dataset(title="Flight delays in minutes", bounds=(-180.0, 1440.0), resolution=1),
    "made-up hours": Dataset(title="Made-up hours", bounds=(0.0, 168.0), resolution=1),
    "made-up income": Dataset(
        title="Made-up income", bounds=(-20_000.0, 1_000_000.0), resolution=1
    ),
}

STAND_INS = {
    "ratings": "delays",
    "pages": "late",
    "stars": "minutes",
    "hours": "made-up hours",
    "income": "made-up income",
}
NEEDED_COLUMN = {"ratings": "ratings", "pages": "pages", "stars": "ratings"}


@dataclass(frozen=True)
class Tables:
    """The columns at hand, and what is to be said about the others."""

    columns: Mapping[str, Floats]
    messages: tuple[str, ...] = field(default=())

    def name(self, wanted: str) -> str:
        """The data set itself, or the one that stands in for it."""
        needed = NEEDED_COLUMN.get(wanted, wanted)
        if wanted not in STAND_INS or needed in self.columns:
            return wanted
        return STAND_INS[wanted]

    def sample(self, name: str, n: int, trial: int) -> Floats:
        """The records of one trial: the same for every mechanism and every question."""
        rng = np.random.default_rng([zlib.crc32(name.encode()), n, trial])
        draw = DISTRIBUTIONS.get(name)
        if draw is not None:
            return np.asarray(draw(rng, n))
        whole = self.columns[NEEDED_COLUMN.get(name, name)]
        drawn = rng.choice(whole, min(n, len(whole)), replace=False)
        return drawn / 100 if name in {"pages", "delays", "late"} else drawn


def made_up_hours(rng: np.random.Generator, n: int) -> Floats:
    """47% of records at 40, the others whole numbers around it."""
    others = np.clip(np.rint(rng.normal(38, 14, n)), 1, 99)
    return np.where(rng.random(n) < 0.467, 40.0, others)


def made_up_income(rng: np.random.Generator, n: int) -> Floats:
    """13% zeros, the others log-normal and rounded to hundreds."""
    others = np.rint(rng.lognormal(10.3, 1.1, n) / 100) * 100
    return np.where(rng.random(n) < 0.13, 0.0, others)


DISTRIBUTIONS = {
    "gaussian": lambda rng, n: rng.normal(0, 5, n),
    "uniform": lambda rng, n: rng.uniform(-5, 5, n),
    "standard": lambda rng, n: rng.normal(0, 1, n),
    "made-up hours": made_up_hours,
    "made-up income": made_up_income,
}


def load(paths: Iterable[Path]) -> Tables:
    """All columns that the files offer, the shipped ones, and a message for each that is absent."""
    delays = flight_delays().astype(np.float64)
    columns: dict[str, Floats] = {"delays": delays, "late": delays[delays > 0], "minutes": delays}
    messages: list[str] = []
    for path in paths:
        try:
            columns |= _columns(path)
        except (OSError, ValueError, csv.Error) as problem:
            messages.append(f"{path} is not used: {problem}; Goodreads is {GOODREADS}")
    messages += [_absent(name) for name in COLUMNS if name not in columns]
    return Tables(columns, tuple(sorted(messages)))


def _absent(name: str) -> str:
    column, stand_in = COLUMNS[name], DATASETS[STAND_INS[name]].title
    return (
        f"no column {column.header} was given, so that {stand_in!r} stands in; it is in "
        f"{column.source}; name the file with --goodreads or --columns"
    )


def _columns(path: Path) -> dict[str, Floats]:
    """The known columns of a file, or of all CSV files of a folder."""
    if path.is_dir():
        files = sorted(path.glob("*.csv"))
        found = {name: values for file in files for name, values in _columns_of(file).items()}
    else:
        found = _columns_of(path)
    if not found:
        known = ", ".join(column.header for column in COLUMNS.values())
        raise ValueError(f"it must have a column of {known}")
    return found


def _columns_of(file: Path) -> dict[str, Floats]:
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        rows = csv.reader(lines)
        header = [name.strip() for name in next(rows, [])]
        places = {n: header.index(c.header) for n, c in COLUMNS.items() if c.header in header}
        # A comma inside an author's name shifts all that follows: such rows are left out.
        whole = [row for row in rows if len(row) == len(header)] if places else []
    return {
        name: _checked(file, COLUMNS[name], list(_numbers(row[place] for row in whole)))
        for name, place in places.items()
    }


def _numbers(cells: Iterable[str]) -> Iterator[float]:
    for cell in cells:
        try:
            yield float(cell)
        except ValueError:
            continue


def _checked(file: Path, column: Column, values: list[float]) -> Floats:
    numbers = np.array([v for v in values if column.limits[0] <= v <= column.limits[1]])
    if len(numbers) < FEWEST_RECORDS or len(numbers) < 0.9 * len(values):
        raise ValueError(
            f"column {column.header} of {file.name} must have at least {FEWEST_RECORDS} numbers "
            f"between {column.limits[0]:g} and {column.limits[1]:g}, got {len(numbers)} of "
            f"{len(values)}; get it from {column.source}"
        )
    return numbers
