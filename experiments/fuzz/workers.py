"""A process that checks cases, and is ended and replaced when it hangs, dies or grows too large."""

import multiprocessing
import os
import resource
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from experiments.fuzz.check import Report
from experiments.rows import THREADS

MOST_MEGABYTES = 2000
"""That a process may take, libraries included."""

SECONDS = 120.0
"""After which a case counts as hung: far more than it may compute, for machines that are busy."""

Check = Callable[[int], Report]


class Worker:
    """One process at a time, started when it is needed."""

    def __init__(self, check: Check, seconds: float = SECONDS, megabytes: int = MOST_MEGABYTES):
        self.check, self.seconds, self.megabytes = check, seconds, megabytes
        self._process: Any = None
        self._pipe: Connection | None = None

    def report(self, number: int) -> Report:
        """The report of a case; where there is none, a report that says so."""
        pipe = self._started()
        pipe.send(number)
        try:
            if not pipe.poll(self.seconds):
                return self._ended(number, f"no answer within {self.seconds:g} s")
            answer: tuple[Report, float] = pipe.recv()
        except (EOFError, ConnectionError):
            return self._ended(number, "the process died")
        report, megabytes = answer
        if megabytes > self.megabytes:
            self.end()
            words = f"took {megabytes:.0f} megabytes of memory"
            return Report(number, report.case, report.outcome, (*report.findings, words))
        return report

    def _ended(self, number: int, words: str) -> Report:
        self.end()
        return Report(number, f"Case {number}", words, (words,))

    def _started(self) -> Connection:
        if self._pipe is None:
            for name in (*THREADS, "POLARS_MAX_THREADS"):
                os.environ.setdefault(name, "1")
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            arguments = (theirs, self.check, self.megabytes)
            self._process = context.Process(target=_work, args=arguments, daemon=True)
            self._process.start()
            theirs.close()
            self._pipe.recv()  # libraries are loaded, and time begins to count
        return self._pipe

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._pipe = None


def _work(pipe: Connection, check: Check, megabytes: int) -> None:
    """Answer numbers with reports until the pipe is closed."""
    with suppress(ValueError, OSError):  # not every system can limit memory
        resource.setrlimit(resource.RLIMIT_AS, (12 * megabytes * 2**20,) * 2)
    with suppress(EOFError, ConnectionError, KeyboardInterrupt):
        pipe.send("ready")
        while True:
            number = pipe.recv()
            try:
                report = check(number)
            except Exception:
                words = traceback.format_exc(limit=-3)
                report = Report(number, f"Case {number}", "the check failed", (words,))
            pipe.send((report, _peak()))


def _peak() -> float:
    """The most megabytes that this process had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
