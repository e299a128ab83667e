"""One call, watched: what came back, or was raised, and everything that was said meanwhile."""

import decimal
import io
import logging
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpquantiles as dpq
from experiments.fuzz.cases import Case
from experiments.fuzz.datasets import Data
from experiments.fuzz.origins import ORIGINS


@dataclass(frozen=True)
class Outcome:
    """What a call did."""

    made: Any
    """What it returned; None where it raised."""
    error: BaseException | None
    said: str
    """Warnings, logs and output."""
    seconds: float
    """Of computing, not of waiting."""
    folder: str
    """Where its files were; no part of what it said."""
    entries: tuple[dict[str, Any], ...] = ()
    """What a ledger holds beyond its budget."""
    again: Any = None
    """What the same request gave when it was asked again."""

    @property
    def chain(self) -> tuple[BaseException, ...]:
        """The error and all that it came from, suppressed ones too: programs can read them."""
        found: list[BaseException] = []
        waiting = [self.error]
        while waiting:
            error = waiting.pop()
            if error is not None and error not in found:
                found.append(error)
                waiting += [error.__cause__, error.__context__]
        return tuple(found)

    @property
    def words(self) -> str:
        """The error's type and message, without the name of the folder."""
        if self.error is None:
            return ""
        return self._plain(f"{type(self.error).__name__}: {self.error}")

    @property
    def everything(self) -> str:
        """All that an observer may read: of errors, what they hold as well."""
        held = [f"{e!s} {e.args!r} {getattr(e, '__notes__', '')!r}" for e in self.chain]
        return self._plain("\n".join([self.said, *held]))

    def _plain(self, text: str) -> str:
        return text.replace(self.folder, "FOLDER")


class Said(logging.Handler):
    """Everything that is logged, at any level."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"log: {record.getMessage()}")


@contextmanager
def listening(said: list[str]) -> Iterator[None]:
    """Collect warnings, logs, and what Python or a library below it writes."""
    root, handler, level = logging.getLogger(), Said(), logging.getLogger().level
    out = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(out),
        redirect_stderr(out),
        tempfile.TemporaryFile() as below,
    ):
        warnings.simplefilter("always")
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        kept = [(number, os.dup(number)) for number in (1, 2)]
        for number, _ in kept:
            os.dup2(below.fileno(), number)
        try:
            yield
        finally:
            for number, old in kept:
                os.dup2(old, number)
                os.close(old)
            root.removeHandler(handler)
            root.setLevel(level)
            below.seek(0)
            written = out.getvalue() + below.read().decode("utf-8", "replace")
            said += [f"warning: {w.category.__name__}: {w.message}" for w in warned]
            said += handler.lines + ([f"output: {written}"] if written else [])


@contextmanager
def surroundings(strict: bool) -> Iterator[None]:
    """A caller's own settings, which are none of the library's business."""
    with ExitStack() as stack:
        if strict:
            traps = list(decimal.getcontext().traps)
            stack.enter_context(np.errstate(all="raise"))
            stack.enter_context(decimal.localcontext(decimal.Context(prec=3, traps=traps)))
        yield


def watched(case: Case, data: Data, folder: Path) -> Outcome:
    """The call of a case on one of its data sets; files go to the folder."""
    native = held(case, data, folder)
    ledger = dpq.Ledger(folder / "budget.db", **case.ledger) if case.ledger else None
    said: list[str] = []
    made, again, error = None, None, None
    begun = time.process_time()
    with listening(said):
        try:
            with surroundings(case.strict):
                made = call(case, native, ledger)
                used(made)
                if "request_id" in case.options:
                    again = call(case, native, ledger)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # panics of libraries in Rust are no Exceptions
            error, made = problem, None
    return Outcome(
        made=made,
        error=error,
        said="\n".join(said),
        seconds=time.process_time() - begun,
        folder=str(folder),
        entries=() if ledger is None else tuple(e.content for e in ledger.entries()[1:]),
        again=again,
    )


class Unheld(Exception):
    """A library refused to hold such data, so that there is nothing to ask."""


def held(case: Case, data: Data, folder: Path) -> Any:
    """The data as a caller has them; plans need none."""
    if not case.types:
        return None
    try:
        return ORIGINS[case.origin].make(data, case.types, folder)
    except (ValueError, OverflowError) as error:
        raise Unheld(str(error)) from error


def call(case: Case, native: Any, ledger: dpq.Ledger | None) -> Any:
    """Ask the library."""
    options = case.seeded if ledger is None else {**case.seeded, "ledger": ledger}
    if case.function == "plan":
        return dpq.plan(**options)
    if case.function == "percentiles":
        return dpq.percentiles(native, (10, 50.5), **options)
    name = "quantiles" if case.function == "groups" else case.function
    return getattr(dpq, name)(native, *case.arguments, **options)


def used(made: Any) -> None:
    """Look at a result in every way that a caller may."""
    str(made)
    repr(made)
    made._repr_html_()
    if isinstance(made, dpq.Release):
        np.asarray(made)
        if made.ranks is not None:
            made.interval()
    elif isinstance(made, (dpq.GroupedRelease, dpq.Description)):
        made.to_frame()


def raised_here(error: BaseException) -> bool:
    """Whether an error was raised by a line of the library that says so, not by accident."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    home = str(Path(sys.modules["dpquantiles"].__file__ or "").parent)
    return frame.filename.startswith(home) and (frame.line or "").startswith("raise")
