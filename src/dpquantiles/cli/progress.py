"""A bar for long scans, on a terminal only: how much of what is there has been read."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn

DELAY, PERIOD = 1.0, 0.1
"""Seconds before a bar appears, and between two looks at the engine."""


@contextmanager
def scanning(percent: Callable[[], float] | None, size: int | None) -> Iterator[None]:
    """Show how far the engine is, in bytes where they are known, while the body runs."""
    if percent is None or not sys.stderr.isatty():
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


def _watch(percent: Callable[[], float], size: int | None, done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    amount = DownloadColumn() if size else TaskProgressColumn()
    columns = (TextColumn("reading"), BarColumn(), amount)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size or 100)
        while not done.wait(PERIOD):
            part = min(max(percent(), 0.0), 100.0)
            bar.update(task, completed=part * (size or 100) / 100)
