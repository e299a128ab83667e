"""A bar that moves as long as data are read, whether or not their engine says how far it is."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dpquantiles.cli import screen

DELAY, PERIOD = 1.0, 0.1
"""The seconds before the bar appears, and between two updates."""


@contextmanager
def reading(percent: Callable[[], float] | None, size: int | None) -> Iterator[None]:
    """While the block runs, show how far its reading is, in bytes if their number is known."""
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
    amount = f"{part:.0f} %"
    if size:
        amount = f"{decimal(int(part * size / 100))} of {decimal(size)}"
    words = "reading" if scans == 1 else f"reading, scan {scans}"
    bar.update(task.id, completed=part, description=words, amount=amount if part else "")
