"""How long a release takes where data live, as ratios to what the same engine does by itself.

    python -m benchmarks.sources [--rows 10000000] [--large 100000000] [--engines NAME ...]

A Parquet file is written once; every engine then answers 9, 99 and 255 quantiles of one column, in
turn with its own way to them: Polars sorts, DuckDB takes quantile_disc, Dask quantile and Spark
percentile_approx of the same list. Then a fresh process releases the same quantiles and tells its
scans, the values that it fetched, its processor time and its peak memory over that before the
release. DuckDB and Polars do so also for a tenth of the rows, and for `--large` rows, which shows
how all this grows; `--large 0` leaves it out. Seconds differ between machines and ratios much less,
so the targets are ratios; a missed target is reported, and the exit code stays 0. `--only growth`
leaves out everything but the fresh processes; `make scale-table` puts those into docs/scale.md.
`--only floor` tells the memory of plain scans by Polars and Dask themselves, in fresh processes: a
sum, a filter, and groups of whole numbers, as many as a release without bounds has bins.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpquantiles as dpq
from experiments.marked import put

COLUMN = "salary"
EPSILON = 1.0
COUNTS = (9, 99, 255)
BATCH = 1_000_000
WARM_UP, ROUNDS = 1, 3
"""Rounds that are not timed, for engines that compile while they run, and rounds that are."""

LIMIT = 1.5
"""The most that a release may take, over the engine's own way to the quantiles."""

MOST_SCANS, MOST_BYTES = 4, 200_000_000
"""The most scans of a release, and the most memory beyond that of the imported engine."""

GROWN = ("duckdb", "polars")
"""Engines that also read a tenth of the rows, and many more."""

AGAIN = 5
"""How often a plain scan runs, because its memory depends on how far it reads ahead."""

NARROW, CELLS = (36_000.0, 36_020.0), 70
"""A range of few values, and cells of the square root: about 60,000 of them hold records."""

BOUNDS: dict[str, tuple[float, float] | None] = {"no bounds": None, "bounds": (0.0, 1e6)}

Call = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell: seconds of ours and theirs, the best of some rounds taken in turn."""

    engine: str
    rows: int
    m: int
    bounds: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        met = "met" if self.ratio <= LIMIT else "MISSED"
        return (
            f"{met:<7} {self.engine:<7} n={self.rows:.0e} m={self.m:<3} {self.bounds:<10} "
            f"{self.ours:7.2f} s over {self.theirs:7.2f} s = {self.ratio:.2f} (at most {LIMIT:g})"
        )


def write(path: Path, rows: int) -> None:
    """Log-normal salaries, and a column that nobody asks for."""
    rng = np.random.default_rng(20240531)
    schema = pa.schema([(COLUMN, pa.float64()), ("id", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            n = min(BATCH, rows - start)
            values = {COLUMN: np.exp(rng.normal(10.5, 0.6, n)), "id": np.arange(start, start + n)}
            writer.write_table(pa.table(values, schema=schema))


def quantiles(m: int) -> list[float]:
    """m evenly spaced quantiles."""
    return [k / (m + 1) for k in range(1, m + 1)]


@dataclass(frozen=True)
class Engine:
    """A way to open the file, and the engine's own way to its quantiles."""

    open: Callable[[], Any]
    own: Callable[[list[float]], object]
    plain: Mapping[str, Call] = field(default_factory=dict)
    """Scans that do nothing for privacy."""


def polars_engine(path: Path) -> Engine:
    import polars as pl

    def sort(_: list[float]) -> object:
        return pl.scan_parquet(path).select(COLUMN).sort(COLUMN).collect(engine="streaming")

    column, lazy = pl.col(COLUMN), pl.scan_parquet(path)
    cells = lazy.group_by((column.sqrt() * CELLS).cast(pl.Int32).alias("cell"))
    plain = {
        "sum": lazy.select(column.sum()),
        "filter": lazy.select(column).filter(column.is_between(*NARROW)),
        "count": cells.agg(pl.len()),
        "ends": cells.agg(pl.len(), column.min().alias("low"), column.max().alias("high")),
    }
    calls = {name: partial(query.collect, engine="streaming") for name, query in plain.items()}
    return Engine(lambda: pl.scan_parquet(path), sort, calls)


def duckdb_engine(path: Path) -> Engine:
    import duckdb

    def own(q: list[float]) -> object:
        query = f"SELECT quantile_disc({COLUMN}, {q}) FROM read_parquet('{path}')"
        return duckdb.execute(query).fetchall()

    return Engine(lambda: duckdb.read_parquet(str(path)), own)


def spark_engine(path: Path) -> Engine:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(path))
    return Engine(lambda: frame, lambda q: frame.select(F.percentile_approx(COLUMN, q)).collect())


def dask_engine(path: Path) -> Engine:
    import dask.dataframe as dd

    # Partitions of a million rows. By default, one file of this size is one partition.
    frame = dd.read_parquet(path, columns=[COLUMN], split_row_groups=True)
    column = frame[COLUMN]
    cells = frame.assign(cell=(column**0.5 * CELLS).astype("int32")).groupby("cell")[COLUMN]
    plain = {
        "sum": column.sum(),
        "filter": column[column.between(*NARROW)],
        "count": cells.count(),
        "ends": cells.agg(["count", "min", "max"]),
    }
    calls = {name: query.compute for name, query in plain.items()}
    return Engine(lambda: frame, lambda q: column.quantile(q).compute(), calls)


ENGINES = {
    **{"polars": polars_engine, "duckdb": duckdb_engine},
    **{"dask": dask_engine, "spark": spark_engine},
}


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(names: list[str], path: Path, rows: int) -> Iterator[Row]:
    """All cells of some engines; each pair runs in turn, so that a busy moment hits both."""
    for name in names:
        engine = ENGINES[name](path)
        for m in COUNTS:
            q = quantiles(m)
            for _ in range(WARM_UP):
                dpq.quantiles(engine.open(), q, column=COLUMN, epsilon=EPSILON)
                engine.own(q)
            for label, bounds in BOUNDS.items():

                def ours(
                    engine: Engine = engine,
                    q: list[float] = q,
                    bounds: tuple[float, float] | None = bounds,
                ) -> object:
                    return dpq.quantiles(
                        engine.open(), q, column=COLUMN, epsilon=EPSILON, bounds=bounds
                    )

                def theirs(engine: Engine = engine, q: list[float] = q) -> object:
                    return engine.own(q)

                rounds = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
                best, own = (min(times) for times in zip(*rounds, strict=True))
                row = Row(engine=name, rows=rows, m=m, bounds=label, ours=best, theirs=own)
                print(row.verdict, flush=True)
                yield row


def child(engine: str, path: Path, m: int) -> None:
    """In a fresh process: print scans, fetched values, memory, and seconds of ours and theirs."""
    from dpquantiles.sources.columns import Numbers

    scans: list[int] = []

    def counted(name: str) -> None:
        original = getattr(Numbers, name)

        def scan(*asked: Any, **named: Any) -> Any:
            found = original(*asked, **named)
            scans.append(len(found) if isinstance(found, np.ndarray) else 0)
            return found

        setattr(Numbers, name, scan)

    for name in ("count_bins", "occupied_bins", "fetch", "count_within", "fetch_within"):
        counted(name)
    opened, q = ENGINES[engine](path), quantiles(m)
    table, before, start = opened.open(), _memory("VmRSS"), time.process_time()
    ours = seconds(lambda: dpq.quantiles(table, q, column=COLUMN, epsilon=EPSILON))
    busy, peak = time.process_time() - start, _memory("VmHWM") - before
    print(json.dumps([len(scans), sum(scans), busy, peak, ours, seconds(lambda: opened.own(q))]))


def plain_child(engine: str, path: Path, scan: str) -> None:
    """In a fresh process: print the peak memory of a plain scan, counted like that of a release."""
    run, before = ENGINES[engine](path).plain[scan], _memory("VmRSS")
    run()
    print(_memory("VmHWM") - before)


def floor(names: list[str], folder: Path, sizes: list[int]) -> None:
    """Print the memory of plain scans, for some engines and sizes."""
    for rows in sizes:
        path = folder / f"{rows}.parquet"
        write(path, rows)
        for name in names:
            for scan in ENGINES[name](path).plain:
                call = f"plain_child({name!r}, Path({str(path)!r}), {scan!r})"
                found = [fresh(call) / 1e6 for _ in range(AGAIN)]
                told = f"{min(found):.0f} to {max(found):.0f} MB"
                print(f"{name:<7} n={rows:.0e} {scan:<7} {told}", flush=True)
        path.unlink()


def _memory(name: str) -> int:
    """The memory of this process in bytes, as Linux tells it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024


def fresh(call: str) -> Any:
    """What a call of this module prints in a fresh process."""
    code = f"from benchmarks.sources import *; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def footprint(engine: str, path: Path, rows: int, m: int) -> dict[str, Any]:
    """The scans, the fetched values and the memory of one release."""
    call = f"child({engine!r}, Path({str(path)!r}), {m})"
    scans, values, busy, peak, ours, own = fresh(call)
    met = "met" if scans <= MOST_SCANS and peak <= MOST_BYTES else "MISSED"
    told = f"{scans} scans, {values:,} values, {busy:.1f} s of a processor, {peak / 1e6:.0f} MB"
    print(f"{met:<7} {engine:<7} n={rows:.0e} m={m:<3} {told}", flush=True)
    public = {"engine": engine, "rows": rows, "m": m}
    found = {"scans": scans, "values": values, "processor": busy, "peak": peak}
    return {**public, **found, "seconds": ours, "own": own}


def growth_table(steps: list[dict[str, Any]]) -> Iterator[str]:
    """All footprints as a table of Markdown."""
    yield "| Engine | Rows | m | Scans | Values fetched | Memory | Seconds | Over its own |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for step in sorted(steps, key=lambda step: (step["engine"], step["m"], step["rows"])):
        cells = (f"{step['rows']:,}", step["m"], step["scans"], f"{step['values']:,}")
        memory, ratio = f"{step['peak'] / 1e6:.0f} MB", f"{step['seconds'] / step['own']:.1f}"
        told = (step["engine"], *cells, memory, f"{step['seconds']:.1f}", ratio)
        yield f"| {' | '.join(map(str, told))} |"


def growth(names: list[str], folder: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """The footprints of all counts, for some engines and sizes."""
    steps = []
    for rows in sizes:
        path = folder / f"{rows}.parquet"
        write(path, rows)
        steps += [footprint(name, path, rows, m) for name in names for m in COUNTS]
        path.unlink()
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--large", type=int, default=10**8)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--only", choices=["growth", "floor"])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--page", type=Path, help="put the table of growth into this page")
    options = parser.parse_args()
    everything = options.only is None
    # The memory of Spark is that of Java, in a process apart.
    here = [name for name in options.engines if name != "spark"]
    with tempfile.TemporaryDirectory(prefix="dpquantiles-bench-") as name:
        folder, rows = Path(name), []
        if options.only == "floor":
            floor(options.engines, folder, [options.rows, *filter(None, [options.large])])
            return
        if everything:
            write(folder / "table.parquet", options.rows)
            rows = list(measure(options.engines, folder / "table.parquet", options.rows))
        steps = growth(here, folder, [options.rows])
        if options.large:
            grown = [name for name in here if name in GROWN]
            steps += growth(grown, folder, [options.rows // 10, options.large])
    if options.page:
        put(options.page, "growth", growth_table(steps))
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "dpquantiles": dpq.__version__,
            "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
            "footprints": steps,
        }
        options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
