"""Rows of runs as JSON lines: what is there is kept, what is missing is measured in parallel.

A run is a frozen dataclass of plain values; a row is what was found for it. Every row is on disk
before the next one is waited for, so that a run that is cut off loses what was in flight and no
more; a line that was cut off is measured again. Rows of another version of the library are left
out: they may be wrong today.
"""

import fcntl
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import dpquantiles as dpq

Found = dict[str, Any]
Rows = dict[str, Found]
Measure = Callable[[Any, Any], Found]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Busy(Exception):
    """Another process works in the same folder."""


def key(run: Any) -> str:
    """What a row is found by: the kind of the run and all its numbers."""
    return json.dumps({"kind": type(run).__name__, **asdict(run)}, sort_keys=True)


def read(path: Path) -> Rows:
    """The whole lines of a file, by key; an absent file has none."""
    rows: Rows = {}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
            if row["version"] == dpq.__version__:
                rows[json.dumps(row["run"], sort_keys=True)] = row["found"]
        except (ValueError, KeyError, TypeError):
            continue
    return rows


@contextmanager
def appending(path: Path) -> Iterator[Callable[[Any, Found], None]]:
    """A function that keeps one row; what a killed process left behind cannot swallow it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if file.tell() and path.read_bytes()[-1:] != b"\n":
            file.write(b"\n")
        yield lambda run, found: _keep(file, run, found)


def _keep(file: IO[bytes], run: Any, found: Found) -> None:
    row = {"run": json.loads(key(run)), "version": dpq.__version__, "found": found}
    file.write(json.dumps(row).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else who asks may work in the folder meanwhile; a killed process frees it at once.

    The lock belongs to this process and not to the file that it opened, so that workers which
    outlive it for a moment do not hold it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Busy(
                f"{folder} is in use by another run; wait for it to end or name another folder"
            ) from None
        yield


def collect(
    runs: Sequence[Any],
    measure: Measure,
    *,
    path: Path,
    shared: Any = None,
    processes: int = 2,
    done: Callable[[], None] = lambda: None,
) -> dict[str, str]:
    """Measure the runs, keep each row as soon as it is there, and say which runs failed and why.

    `measure(shared, run)` is called in fresh processes with one thread each; `shared` is sent to
    each of them once.
    """
    failures: dict[str, str] = {}
    with appending(path) as keep, _workers(processes, measure, shared) as pool:
        waiting = {pool.submit(_measured, run): run for run in runs}
        for future in as_completed(waiting):
            _settle(future, waiting.pop(future), keep, failures)
            done()
    return failures


def _settle(
    future: "Future[Found]",
    run: Any,
    keep: Callable[[Any, Found], None],
    failures: dict[str, str],
) -> None:
    try:
        keep(run, future.result())
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as problem:
        failures[key(run)] = f"{type(problem).__name__}: {problem}"


@contextmanager
def _workers(processes: int, measure: Measure, shared: Any) -> Iterator[ProcessPoolExecutor]:
    for name in THREADS:
        os.environ.setdefault(name, "1")
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(measure, shared),
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


_task: tuple[Measure, Any]
"""What a worker does, and with what; set once when it begins."""


def _begin(measure: Measure, shared: Any) -> None:
    global _task
    _task = measure, shared
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait forever for the next run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _measured(run: Any) -> Found:
    measure, shared = _task
    return measure(shared, run)


def missing(runs: Iterable[Any], rows: Mapping[str, Found]) -> list[Any]:
    """The runs without a row, each once."""
    return list({key(run): run for run in runs if key(run) not in rows}.values())
