"""How long quantiles of many groups take, and how much memory, for tables of several libraries.

    python -m benchmarks.groups [--groups 10000] [--rows 1000] [--output build/bench/groups.json]
    python -m benchmarks.groups --engines duckdb polars spark

Deciles of every group, at one epsilon for all. `even` groups have the same number of rows, `uneven`
ones between half and one and a half times as many. Beside the seconds stands what the library's own
grouped quantiles, which are not private, take on the same table. Peak memory is that of a process
of its own, less what it held before the release.

With `--engines`, 200,000 groups of 50 rows in a Parquet file instead. Ours and the engine's own
take turns, and the best of each counts. Peak memory is all that the process held, without Java.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dpquantiles as dpq
from benchmarks.speed import machine

LIBRARIES = ("polars", "pandas", "pyarrow")
SHAPES = ("even", "uneven")
DECILES = [k / 10 for k in range(1, 10)]
TARGET_SECONDS = 3.0

MANY, FEW = 200_000, 50
"""The groups of engines, and the rows of each."""
ROUNDS = 3
MOST_TIMES, MOST_MEGABYTES = 5.0, 500
"""The most time over the engine's own way, and the most memory."""


def table(library: str, shape: str, groups: int, rows: int) -> Any:
    """Salaries in counties, in no order."""
    rng = np.random.default_rng(1)
    sizes = np.full(groups, rows)
    if shape == "uneven":
        sizes = rng.integers(rows // 2, rows + rows // 2 + 1, groups)
    county = rng.permutation(np.repeat(np.arange(groups), sizes))
    salary = rng.lognormal(10.8, 0.6, len(county)).round()
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame({"county": county, "salary": salary})
    if library == "polars":
        import polars as pl

        return pl.DataFrame({"county": county, "salary": salary})
    import pyarrow as pa

    return pa.table({"county": county, "salary": salary})


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(library: str, shape: str, groups: int, rows: int) -> dict[str, object]:
    """One cell, in this process."""
    frame = table(library, shape, groups, rows)
    held, start, busy = peak_megabytes(), time.perf_counter(), time.process_time()
    release = dpq.quantiles(
        frame,
        DECILES,
        column="salary",
        by="county",
        keys=range(groups),
        epsilon=1.0,
        bounds=(0, 1_000_000),
    )
    seconds, processor = time.perf_counter() - start, time.process_time() - busy
    return {
        "library": library,
        "shape": shape,
        "groups": len(release),
        "rows": len(frame),
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "extra_megabytes": round(peak_megabytes() - held),
        "not_private_seconds": round(not_private(frame, library), 2),
    }


def not_private(frame: Any, library: str) -> float:
    """Seconds of the library's own deciles by group; PyArrow's are approximate."""
    start = time.perf_counter()
    if library == "pandas":
        frame.groupby("county")["salary"].quantile(DECILES)
    elif library == "polars":
        import polars as pl

        frame.group_by("county").agg([pl.col("salary").quantile(q).alias(str(q)) for q in DECILES])
    else:
        import pyarrow.compute as pc

        options = pc.TDigestOptions(q=DECILES)
        frame.group_by("county").aggregate([("salary", "tdigest", options)])
    return time.perf_counter() - start


@contextmanager
def counted_scans() -> Iterator[list[str]]:
    """A list with an entry for every scan."""
    from dpquantiles.sources.engine import Engine

    seen, collected = [], Engine.collected

    def collecting(self: Engine, frame: Any) -> Any:
        seen.append(self.name)
        return collected(self, frame)

    Engine.collected = collecting  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Engine.collected = collected  # type: ignore[method-assign]


def own_duckdb(path: Path) -> tuple[Callable[[], Any], Callable[[], object]]:
    import duckdb

    query = f"SELECT county, quantile_disc(salary, {DECILES}) FROM read_parquet('{path}')"
    return (
        lambda: duckdb.read_parquet(str(path)),
        lambda: duckdb.execute(f"{query} GROUP BY county").to_arrow_table(),
    )


def own_polars(path: Path) -> tuple[Callable[[], Any], Callable[[], object]]:
    import polars as pl

    deciles = [pl.col("salary").quantile(q).alias(str(q)) for q in DECILES]
    query = pl.scan_parquet(path).group_by("county").agg(deciles)
    return lambda: pl.scan_parquet(path), lambda: query.collect(engine="streaming")


def own_spark(path: Path) -> tuple[Callable[[], Any], Callable[[], object]]:
    from pyspark.sql import functions as F

    from benchmarks.sources import spark_engine

    frame = spark_engine(path).open()
    deciles = F.percentile("salary", F.array(*map(F.lit, DECILES)))
    return lambda: frame, lambda: frame.groupBy("county").agg(deciles).toArrow()


ENGINES = {"duckdb": own_duckdb, "polars": own_polars, "spark": own_spark}


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_engine(name: str, path: Path) -> dict[str, object]:
    """One engine, in this process: our groups and its own, in turn."""
    opened, own = ENGINES[name](path)
    asked: dict[str, Any] = {"column": "salary", "by": "county", "keys": range(MANY)}

    def ours() -> object:
        return dpq.quantiles(opened(), DECILES, epsilon=1.0, bounds=(0, 1_000_000), **asked)

    with counted_scans() as scans:
        rounds = [(seconds(ours), peak_megabytes(), seconds(own)) for _ in range(ROUNDS)]
    return {
        "engine": name,
        "seconds": round(min(first for first, _, _ in rounds), 2),
        "own_seconds": round(min(last for _, _, last in rounds), 2),
        "megabytes": round(rounds[0][1]),
        "scans": len(scans) // ROUNDS,
    }


def measure_engines(names: list[str]) -> list[dict[str, Any]]:
    """All engines, each in a process of its own, on one file."""
    import pyarrow.parquet as pq

    cells = []
    with tempfile.TemporaryDirectory(prefix="dpquantiles-bench-") as folder:
        path = Path(folder) / "groups.parquet"
        pq.write_table(table("pyarrow", "even", MANY, FEW), path)
        for name in names:
            cell = run_cell(f"{name},{path}")
            ratio = cell["seconds"] / cell["own_seconds"]
            met = ratio <= MOST_TIMES and cell["megabytes"] <= MOST_MEGABYTES
            print(
                f"{'met' if met else 'MISSED':7} {name:7} {MANY:,} groups of {FEW}: "
                f"{cell['seconds']} s over {cell['own_seconds']} s = {ratio:.1f} (at most "
                f"{MOST_TIMES:g}), {cell['megabytes']} MB (at most {MOST_MEGABYTES}), "
                f"{cell['scans']} scans",
                flush=True,
            )
            cells.append(cell)
    return cells


def in_own_process(library: str, shape: str, groups: int, rows: int) -> dict[str, Any]:
    """One table in memory, in a process that has held nothing before."""
    return run_cell(f"{library},{shape},{groups},{rows}")


def run_cell(cell: str) -> dict[str, Any]:
    """One cell, by this script in another process."""
    command = [sys.executable, "-m", "benchmarks.groups", "--cell", cell]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--output", type=Path, default=Path("build/bench/groups.json"))
    parser.add_argument("--engines", nargs="+", choices=ENGINES)
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        name, *rest = options.cell.split(",")
        if name in ENGINES and len(rest) == 1:
            print(json.dumps(measure_engine(name, Path(rest[0]))))
        else:
            print(json.dumps(measure(name, rest[0], int(rest[1]), int(rest[2]))))
        return
    if options.engines:
        write(options.output, measure_engines(options.engines))
        return
    cells = []
    for shape in SHAPES:
        for library in LIBRARIES:
            cell = in_own_process(library, shape, options.groups, options.rows)
            cells.append(cell)
            verdict = "met" if cell["seconds"] <= TARGET_SECONDS else "MISSED"
            print(
                f"{library:8} {shape:7} {cell['groups']:,} groups, {cell['rows']:,} rows: "
                f"{cell['seconds']} s (target {TARGET_SECONDS:g} s: {verdict}), of a processor "
                f"{cell['processor_seconds']} s, "
                f"{cell['extra_megabytes']} MB; not private {cell['not_private_seconds']} s",
                flush=True,
            )
    write(options.output, cells)


def write(output: Path, cells: list[dict[str, Any]]) -> None:
    """Write down what was measured, and where."""
    output.parent.mkdir(parents=True, exist_ok=True)
    written = json.dumps({"machine": machine(), "cells": cells}, indent=2)
    output.write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
