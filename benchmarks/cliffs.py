"""Whether a public shape of request takes much longer than its neighbors.

    python -m benchmarks.cliffs [--largest 10000000] [--output FILE]

The default call runs for all numbers of records and quantiles, with and without bounds, on arrays
and on scans by DuckDB and Polars. A shape is a cliff if it takes `STEEP` times longer than a
neighbor: the next smaller or larger number of quantiles, the next number of records (where ten
times as many may take ten times as long), or the same with or without bounds. Calls that take less
than `SHORT` seconds are never cliffs. Times are those of the processor, so that a busy machine
makes no cliffs. A cliff makes the exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpquantiles as dpq

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
COUNTS = (1, 2, 3, 5, 9, 12, 15, 19, 24, 30, 44, 64, 99, 144, 255, 500, 1000)
BOUNDS: dict[str, tuple[float, float] | None] = {"bounds": (-100.0, 100.0), "open": None}
SOURCES = ("array", "duckdb", "polars")
ROUNDS = 3
ENOUGH = 2.0
"""A call that takes this many seconds is repeated only once."""

STEEP, SHORT = 5.0, 0.1


class Shape(NamedTuple):
    """A request, as far as it is public."""

    source: str
    bounds: str
    n: int
    m: int

    def neighbors(self) -> Iterator[tuple[Shape, float]]:
        """The shapes beside this one, and how many times longer this one may take anyway."""
        yield from ((self._replace(m=m), 1.0) for m in beside(COUNTS, self.m))
        yield from ((self._replace(n=n), max(1.0, self.n / n)) for n in beside(SIZES, self.n))
        yield from ((self._replace(bounds=name), 1.0) for name in BOUNDS if name != self.bounds)


def beside(marks: tuple[int, ...], mark: int) -> Iterator[int]:
    """The marks before and after one of them."""
    for left, right in itertools.pairwise(marks):
        if mark in (left, right):
            yield right if mark == left else left


def opened(source: str, path: Path, values: Any) -> dict[str, Any]:
    """The data and the column of a call."""
    if source == "array":
        return {"data": values}
    if source == "polars":
        import polars as pl

        return {"data": pl.scan_parquet(path), "column": "x"}
    import duckdb

    return {"data": duckdb.read_parquet(str(path)), "column": "x"}


def seconds(shape: Shape, path: Path, values: Any) -> float:
    """The best time of some rounds, of which the first one fills caches."""
    q, times = [k / (shape.m + 1) for k in range(1, shape.m + 1)], list[float]()
    while len(times) < ROUNDS and not (len(times) > 1 and min(times) > ENOUGH):
        data = opened(shape.source, path, values)
        start = time.process_time()
        dpq.quantiles(**data, q=q, epsilon=1.0, bounds=BOUNDS[shape.bounds])
        times.append(time.process_time() - start)
    return min(times)


def measured(sizes: tuple[int, ...], folder: Path) -> dict[Shape, float]:
    """The time of every shape."""
    times = {}
    for n in sizes:
        values, path = np.random.default_rng(n).normal(0.0, 5.0, n), folder / f"{n}.parquet"
        pq.write_table(pa.table({"x": values}), path)
        for source, bounds, m in itertools.product(SOURCES, BOUNDS, COUNTS):
            shape = Shape(source, bounds, n, m)
            times[shape] = seconds(shape, path, values)
            print(f"{source:8}{bounds:8}{n:>10}{m:>6}{times[shape]:10.3f} s", flush=True)
    return times


def cliffs(times: dict[Shape, float]) -> list[str]:
    """Every pair of neighbors of which one takes far too long, in words."""
    found = []
    for shape, own in times.items():
        for other, allowed in shape.neighbors():
            if other in times and own > max(SHORT, STEEP * allowed * times[other]):
                found.append(
                    f"{shape.source}, {shape.bounds}, n={shape.n:,}, m={shape.m}: {own:.3f} s, but "
                    f"{times[other]:.3f} s with {other.bounds}, n={other.n:,}, m={other.m}"
                )
    return found


def main() -> int:
    """Measure all shapes, and report the cliffs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--output", type=Path, default=Path("build/bench/cliffs.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpquantiles-bench-") as folder:
        sizes = tuple(n for n in SIZES if n <= options.largest)
        times = measured(sizes, Path(folder))
    found = cliffs(times)
    print("\n".join(["", f"{len(found)} cliffs of {len(times)} shapes", *found]))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    rows = [{**shape._asdict(), "seconds": own} for shape, own in times.items()]
    options.output.write_text(json.dumps({"rows": rows, "cliffs": found}, indent=2) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
