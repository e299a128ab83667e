"""How long quantiles of many groups take, and how much memory, for tables of several libraries.

    python -m benchmarks.groups [--groups 10000] [--rows 1000] [--output build/bench/groups.json]

Deciles of every group, at one epsilon for all. `even` groups have the same number of rows, `uneven`
ones between half and one and a half times as many. Beside the seconds stands what the library's own
grouped quantiles, which are not private, take on the same table. Peak memory is that of a process
of its own, less what it held before the release.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dpquantiles as dpq
from benchmarks.speed import machine

LIBRARIES = ("polars", "pandas", "pyarrow")
SHAPES = ("even", "uneven")
DECILES = [k / 10 for k in range(1, 10)]
TARGET_SECONDS = 30.0


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


def in_own_process(library: str, shape: str, groups: int, rows: int) -> dict[str, Any]:
    """One cell, in a process that has held nothing before."""
    cell = f"{library},{shape},{groups},{rows}"
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
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        library, shape, groups, rows = options.cell.split(",")
        print(json.dumps(measure(library, shape, int(groups), int(rows))))
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
    options.output.parent.mkdir(parents=True, exist_ok=True)
    written = json.dumps({"machine": machine(), "cells": cells}, indent=2)
    options.output.write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
