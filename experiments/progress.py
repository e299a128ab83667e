"""How far the work is: a bar with the time left on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def shown(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A function to be called after each run."""
    console = Console(stderr=True)
    with _bar(console, title, total) if console.is_terminal else _lines(title, total) as step:
        yield step


@contextmanager
def _bar(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, speed_estimate_period=120) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def _lines(title: str, total: int) -> Iterator[Callable[[], None]]:
    start = last = time.monotonic()
    done = 0

    def step() -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if done == total or now - last >= SECONDS_BETWEEN_LINES:
            left = (now - start) / done * (total - done)
            print(
                f"{title}: {done} of {total} runs, {left:.0f} s left", file=sys.stderr, flush=True
            )
            last = now

    yield step
