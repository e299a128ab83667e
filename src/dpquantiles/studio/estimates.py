"""Estimates in another process, one after the other, so that a long one can be ended."""

import multiprocessing
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from dpquantiles.errors import PublicError
from dpquantiles.forecast import Request
from dpquantiles.planner.estimates import Estimate

MOST_KEPT = 256
MOST_WAITING = 32
"""The most estimates that are kept, and that wait; the oldest give way."""

PAUSE = 0.02
"""Seconds between two looks at a running estimate."""

LONGEST_END = 10.0
"""Seconds to wait for the end of the other process."""

TOO_LARGE = "this plan needs more memory than there is; ask for fewer quantiles"


class Failure(NamedTuple):
    """Why there is no estimate."""

    why: str


class Running(NamedTuple):
    """An estimate that waits or runs, for so many seconds."""

    seconds: float


Answer = Estimate | Failure | Running


def serve(pipe: Connection) -> None:
    """Make estimates for another process until it is gone."""
    while True:
        try:
            request: Request = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        pipe.send(_answer(request))


def _answer(request: Request) -> Estimate | Failure:
    try:
        return request.estimate()
    except MemoryError:
        return Failure(TOO_LARGE)
    except PublicError as error:
        return Failure(str(error))


class Estimates:
    """Estimates by name; names of equal requests must be equal."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Estimate | Failure] = OrderedDict()
        self._waiting: OrderedDict[str, tuple[Request, float]] = OrderedDict()
        self._current: tuple[str, float] | None = None
        self._change = threading.Condition()
        self._worker: Any = None
        self._pipe: Any = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, name: str, request: Callable[[], Request], patience: float = 0.0) -> Answer:
        """What is known, after waiting for so many seconds; begins an estimate that is unknown."""
        with self._change:
            if self._find(name) is None and not self._is_pending(name):
                self._waiting[name] = (request(), time.monotonic())
                while len(self._waiting) > MOST_WAITING:
                    self._waiting.popitem(last=False)
                self._change.notify_all()
            self._change.wait_for(lambda: not self._is_pending(name), patience)
            found = self._find(name)
            return found if found is not None else Running(time.monotonic() - self._since(name))

    def cancel(self, name: str) -> None:
        """Forget a request that waits, and end one that runs."""
        with self._change:
            self._waiting.pop(name, None)
            if self._current is not None and self._current[0] == name:
                self._current = None
            self._change.notify_all()

    def close(self) -> None:
        """End the other process."""
        with self._change:
            self._closed = True
            self._current = None
            self._change.notify_all()
        self._thread.join(timeout=LONGEST_END)

    def _find(self, name: str) -> Estimate | Failure | None:
        return self._known.get(name)

    def _is_pending(self, name: str) -> bool:
        return name in self._waiting or (self._current is not None and self._current[0] == name)

    def _since(self, name: str) -> float:
        if name in self._waiting:
            return self._waiting[name][1]
        return self._current[1] if self._current else time.monotonic()

    def _run(self) -> None:
        """Everything that touches the other process, which belongs to this thread alone."""
        try:
            self._work()
        finally:
            self._end()

    def _work(self) -> None:
        self._begin()
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                name, (request, since) = self._waiting.popitem()  # the newest: somebody looks at it
                self._current = (name, since)
            answer = self._made(name, request)
            with self._change:
                if answer is not None:
                    self._known[name] = answer
                    while len(self._known) > MOST_KEPT:
                        self._known.popitem(last=False)
                self._current = None
                self._change.notify_all()

    def _made(self, name: str, request: Request) -> Estimate | Failure | None:
        """The answer of the other process; None if nobody waits for it any more."""
        try:
            self._pipe.send(request)
            while not self._pipe.poll(PAUSE):
                if self._current is None or self._current[0] != name:
                    self._begin()
                    return None
            answer: Estimate | Failure = self._pipe.recv()
            return answer
        except (EOFError, OSError):  # it was ended from outside, by a system without memory
            self._begin()
            return Failure(TOO_LARGE)

    def _begin(self) -> None:
        """Start the other process, in place of one that runs."""
        self._end()
        if self._closed:
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._worker = context.Process(target=serve, args=(theirs,), daemon=True)
        self._worker.start()
        theirs.close()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.join()
            self._pipe.close()
            self._worker = None
