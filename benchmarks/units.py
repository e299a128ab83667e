"""How long a release with people takes, as ratios to DuckDB's own query for one row of each.

    python -m benchmarks.units [--rows 5000000] [--people 1000000] [--output FILE]

Two Parquet files hold the same rows: in one, people are numbers, in the other they are text. The
median and two high quantiles are released from each, by a call and by the command line, in turn
with `SELECT user, first(x) ... GROUP BY user`. The time that a command takes to start is
subtracted: that of one which is refused, because the file has no such column. Seconds differ
between machines and ratios much less, so the targets are ratios; a missed target is reported, and
the exit code stays 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import dpquantiles as dpq
from benchmarks.sources import seconds

LIMIT = 4.0
"""The most that a release may take, over DuckDB's own query."""

ROUNDS = 4
QUANTILES = [0.5, 0.9, 0.99]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to release: seconds of ours and theirs, the best of some rounds taken in turn."""

    way: str
    people: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        met = "met" if self.ratio <= LIMIT else "MISSED"
        return (
            f"{met:<7} {self.way:<14} people as {self.people:<8} {self.ours:6.2f} s over "
            f"{self.theirs:6.2f} s = {self.ratio:.2f} (at most {LIMIT:g})"
        )


def write(folder: Path, rows: int, people: int) -> dict[str, Path]:
    """Log-normal values of people who have about equally many rows."""
    rng = np.random.default_rng(20240531)
    number, x = rng.integers(0, people, rows), np.exp(rng.normal(10, 1, rows))
    names = pa.array([f"user-{i:07d}" for i in range(people)]).take(pa.array(number))
    paths = {"numbers": folder / "numbers.parquet", "text": folder / "text.parquet"}
    for path, user in zip(paths.values(), (pa.array(number), names), strict=True):
        pq.write_table(pa.table({"user": user, "x": x}), path)
    return paths


def own(path: Path) -> object:
    table = duckdb.read_parquet(str(path))
    return table.aggregate("user, first(x) AS x", "user").to_arrow_table()


def by_call(data: Any) -> object:
    return dpq.quantiles(data, QUANTILES, column="x", unit="user", epsilon=1.0)


def by_command(path: Path, column: str = "x") -> int:
    """The exit code of a release by the command line, in a process of its own."""
    asked = ["--column", column, "--unit", "user", "-q", "p50,p90,p99", "--epsilon", "1"]
    command = [sys.executable, "-m", "dpquantiles", "release", str(path), *asked]
    return subprocess.run(command, capture_output=True, check=False).returncode


def released(path: Path) -> None:
    assert by_command(path) == 0


def refused(path: Path) -> None:
    assert by_command(path, "no such column") == 2


def measured(way: str, people: str, path: Path, ours: Callable[[], object], idle: float) -> Row:
    ours()
    rounds = [(seconds(ours), seconds(lambda: own(path))) for _ in range(ROUNDS)]
    best, theirs = (min(times) for times in zip(*rounds, strict=True))
    row = Row(way=way, people=people, ours=best - idle, theirs=theirs)
    print(row.verdict, flush=True)
    return row


def measure(people: str, path: Path) -> list[Row]:
    frame = pl.read_parquet(path)
    idle = min(seconds(lambda: refused(path)) for _ in range(ROUNDS))
    ways: dict[str, tuple[Callable[[], object], float]] = {
        "a file": (lambda: by_call(str(path)), 0.0),
        "a Polars frame": (lambda: by_call(frame), 0.0),
        "a command": (lambda: released(path), idle),
    }
    return [measured(way, people, path, call, less) for way, (call, less) in ways.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpquantiles-bench-") as name:
        files = write(Path(name), options.rows, options.people)
        rows = [row for people, path in files.items() for row in measure(people, path)]
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        report = [{**asdict(row), "ratio": row.ratio} for row in rows]
        options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
