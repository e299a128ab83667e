"""Tests in a process of their own, in a tree of their own, until one of them fails.

The process is forked from one that has loaded the libraries that the tests need, but forgets what
it knows of this project.
"""

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import scipy.stats  # noqa: F401

OF_THE_PROJECT = ("dpquantiles", "tests", "benchmarks", "experiments")
MOST_MEMORY = 6 << 30
SURVIVED, KILLED, TIMED_OUT = "survived", "killed", "timed out"


NOTHING_TO_DO = 5
"""What pytest ends with when no test was chosen."""

OPTIONS = ("-x", "-p", "no:cacheprovider", "-k", "not mutants")
"""Until the first failure, and without the tests that check whether other tests can fail."""

MOST_SECONDS = 90
"""For one test, or to collect all; the slowest takes some seconds, on a busy machine more."""


def run(tree: Path, arguments: Sequence[str], *, compiled: bool = False) -> dict[str, Any]:
    """What became of a mutant: it survived, was killed by a test that is named, or timed out.

    `compiled` says whether modules may be kept in compiled form; a mutant must not be.
    """
    forked = multiprocessing.get_context("fork")
    told, telling = forked.Pipe(duplex=False)
    process = forked.Process(target=_child, args=(tree, arguments, compiled, telling))
    process.start()
    telling.close()
    try:
        by = told.recv()
    except EOFError:
        return {"outcome": TIMED_OUT, "by": ""}
    finally:
        process.join()
        # Tests start processes too.
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
    return {"outcome": KILLED if by else SURVIVED, "by": by}


class FirstFailure:
    """Remembers the first thing that failed; ends the process when a test takes too long."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logstart(self) -> None:
        signal.alarm(MOST_SECONDS)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.name = self.name or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def _child(tree: Path, arguments: Sequence[str], compiled: bool, telling: Any) -> None:
    os.setsid()
    signal.alarm(MOST_SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.dont_write_bytecode = not compiled
    os.environ["PYTHONDONTWRITEBYTECODE"] = "" if compiled else "1"
    for name in [name for name in sys.modules if name.partition(".")[0] in OF_THE_PROJECT]:
        del sys.modules[name]
    sys.path[:0] = [str(tree / "src"), str(tree)]
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    first = FirstFailure()
    code = pytest.main([*OPTIONS, *arguments], plugins=[first])
    telling.send("" if code in (0, NOTHING_TO_DO) else first.name or f"pytest ended with {code}")
