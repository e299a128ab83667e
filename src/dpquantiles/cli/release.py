"""`dpquantiles release`: private quantiles of one column of files or of a query."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress

from rich.console import Console
from rich.filesize import decimal as shown_bytes
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dpquantiles import entropy, written
from dpquantiles.cli import csv_options, destinations, options, screen
from dpquantiles.cli.outputs import deliver
from dpquantiles.cli.piped import STANDARD_INPUT, Piped, piped
from dpquantiles.errors import InvalidValue
from dpquantiles.job import Account, Job
from dpquantiles.ledger import Ledger
from dpquantiles.planner import AUTO
from dpquantiles.present import words
from dpquantiles.present.spending import left
from dpquantiles.privacy import Units
from dpquantiles.results import GroupedRelease, Release
from dpquantiles.run import run
from dpquantiles.sources.named import Dialect, Named
from dpquantiles.sources.source import Opened

DELAY, PERIOD = 1.0, 0.1
"""The seconds before the bar appears, and between two updates."""


def release(
    column: options.Column,
    q: options.Quantiles,
    file: options.File = None,
    sql: options.Sql = None,
    database: options.Database = None,
    type: options.Type = None,
    missing: options.Missing = None,
    na: csv_options.Na = None,
    delimiter: csv_options.Delimiter = None,
    decimal: csv_options.Decimal = ".",
    thousands: csv_options.Thousands = None,
    size: options.Size = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    neighbors: options.NeighborsName = "swap",
    seed: options.Seed = None,
    bounds: options.Bounds = None,
    resolution: options.Resolution = None,
    intervals: options.Intervals = None,
    intervals_of: options.IntervalsOf = "data",
    mechanism: options.Mechanism = AUTO,
    by: options.By = None,
    keys: options.Keys = None,
    min_size: options.MinSize = None,
    unit: options.Unit = None,
    max_rows_per_unit: options.MaxRowsPerUnit = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    part: options.Part = None,
    request_id: options.RequestId = None,
    output: options.Output = None,
    format: options.Format = None,
    plot: options.Plot = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    dry_run: options.DryRun = False,
) -> None:
    """Release private quantiles of one column, from files or a query, overall or by group.

    Example: dpquantiles release trips.csv -c minutes -q quartiles -e 1
    """
    screen.hush(quiet)
    inputs = [file, database, ledger, keys]
    wanted = destinations.outputs(format, output, plot, force=force, inputs=inputs)
    rows = max_rows_per_unit
    dialect = written.dialect(delimiter, decimal, thousands, na)
    books = None if ledger is None else Ledger(ledger)
    with piped() if file == STANDARD_INPUT else nullcontext() as source:
        job = Job(
            data=_data(file, sql, database, type, dialect, source),
            columns=(column,),
            q=written.quantiles(",".join(q)),
            budget=written.budget(epsilon, delta, rho, neighbors),
            by=tuple(by or ()),
            keys=keys,
            units=Units.of(
                unit, None if rows is None else written.whole("max_rows_per_unit", rows)
            ),
            bounds={} if bounds is None else {column: bounds},
            resolution=resolution,
            size=None if size is None else written.whole("size", size),
            min_size=None if min_size is None else written.whole("min_size", min_size),
            missing=missing,
            mechanism=mechanism,
            intervals=written.intervals(intervals, intervals_of),
            account=Account.of(books, dataset=dataset, part=part, request_id=request_id),
            as_text=True,
            bits=entropy.system() if seed is None else random.Random(written.whole("seed", seed)),
        )
        if dry_run:
            from dpquantiles.cli.dry_run import show_dry_run  # loads all that plans need

            show_dry_run(job)
            return
        result: Release | GroupedRelease = run(  # type: ignore[assignment]
            job, lambda opened: _reading(opened, job.data, source)
        )
    if job.data.is_text:
        name = result.type
        if type is None:
            public = f"its type counts as public (--type {name})"
            screen.note(f"column {column!r} read as {name}; {public}")
        if "missing" in result.provenance:  # not in a release that a ledger kept for long
            screen.note(words.cells(name, result.provenance["missing"]))
    if result.guarantee is None:
        screen.warning("not private: anyone who knows the seed can remove the noise")
    if wanted.printed != "text":  # which has the warnings below the answers
        for sentence in result.provenance.get("warnings", ()):  # type: ignore[attr-defined]
            screen.warning(sentence)
    again = "" if request_id is None else f" --request-id {request_id}"
    kept = "" if ledger is None else f"; the ledger keeps it too: dpquantiles show {ledger}{again}"
    rest = None
    if job.account is not None:
        with suppress(Exception):  # a result that was paid for outlives any accident
            rest = left(job)
    deliver(result, wanted, kept, rest)
    if rest is not None:
        screen.note(f"data set {dataset!r}: {rest.words}")


def _data(
    file: str | None,
    sql: str | None,
    database: str | None,
    type: str | None,
    dialect: Dialect,
    source: Piped | None,
) -> Named:
    if (file is None) == (sql is None):
        raise InvalidValue("data must be given once: either a FILE, or a query with --sql")
    if database is not None and sql is None:
        raise InvalidValue("database must come with --sql, the query to run in it")
    if source is not None:
        return Named(source.name, type=type, dialect=dialect, shown=file)
    name = Named(sql or file or "", sql is not None, database, type, dialect)
    if dialect.stated and not name.is_text:
        option, value = next(iter(dialect.stated.items()))
        raise InvalidValue(f"{option} must come with CSV files, got {value}; other data needs none")
    return name


@contextmanager
def _reading(opened: Opened, data: Named, source: Piped | None) -> Iterator[None]:
    if source is not None:
        source.read_rest()
    percent = None if opened.table is None else opened.table.percent
    with scanning(percent, data.size().bytes):
        yield


@contextmanager
def scanning(percent: Callable[[], float] | None, size: int | None) -> Iterator[None]:
    """While the block runs, show a bar that moves, whether or not an engine says how far it is.

    It counts bytes if their number is known.
    """
    if not screen.shows_progress():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(percent, size, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(percent: Callable[[], float] | None, size: int | None, done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    text = (TextColumn("{task.description}"), TextColumn("{task.fields[amount]}"))
    columns = (text[0], BarColumn(), text[1], TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        scans, last = 1, 0.0
        bar.add_task("reading", total=None, amount="")
        while not done.wait(PERIOD):
            part = min(max(percent(), 0.0), 100.0) if percent else 0.0
            if part < last:  # an engine that scans again starts again
                scans, last = scans + 1, 0.0
            last = max(last, part)
            _show(bar, part, size, scans)


def _show(bar: Progress, part: float, size: int | None, scans: int) -> None:
    """One state of the bar; it swings to and fro while its engine says nothing."""
    task = bar.tasks[0]
    task.total = 100.0 if part else None
    amount = f"{part:.0f}%"
    if size:
        amount = f"{shown_bytes(int(part * size / 100))} of {shown_bytes(size)}"
    words = "reading" if scans == 1 else f"reading, scan {scans}"
    bar.update(task.id, completed=part, description=words, amount=amount if part else "")
