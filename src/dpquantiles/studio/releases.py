"""Releases that are being made: each request once, few at a time, and what became of them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

from dpquantiles import results
from dpquantiles.errors import InvalidValue, PublicError
from dpquantiles.job import Job
from dpquantiles.ledger import Ledger
from dpquantiles.results import GroupedRelease, Release
from dpquantiles.run import run
from dpquantiles.sources.source import Opened
from dpquantiles.studio.asked import Asked

MOST_AT_ONCE = 2
MOST_KEPT = 200
"""The most releases that are made at once, and that are kept here."""

OTHER_QUESTION = (
    "this request was made with a different question; nothing was charged, so continue from the "
    "plan again, which gives the new question a request of its own"
)

Made = Release | GroupedRelease


@dataclass
class Running:
    """A release that is being made, or that was made or has failed."""

    request: str
    asked: Asked
    result: Made | None = None
    failure: str = ""
    percent: Callable[[], float] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.result is not None or bool(self.failure)

    @property
    def progress(self) -> float | None:
        """How much of the data was read, from 0 to 100, if the engine tells."""
        try:
            share = None if self.percent is None else self.percent()
        except Exception:  # an engine that has just finished
            return None
        return None if share is None else min(max(share, 0.0), 100.0)


class Releases:
    """All releases of this process, by the id of their request."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Running] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, request: str, asked: Asked, job: Callable[[], Job]) -> Running:
        """Make a release, unless this request runs already or has been answered."""
        with self._lock:
            known = self._known.get(request)
            if known is not None and not known.failure:
                if known.asked != asked:
                    raise InvalidValue(OTHER_QUESTION)
                return known
            busy = sum(not one.is_over for one in self._known.values())
            if busy >= MOST_AT_ONCE:
                raise InvalidValue(
                    f"{busy} releases are being made, which is the most at once; nothing was "
                    "charged, so try again in a moment"
                )
            running = Running(request, asked)
            checked = job()
            self._known[request] = running
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        threading.Thread(target=_make, args=(running, checked), daemon=True).start()
        return running

    def get(self, request: str) -> Running | None:
        """A release of this process."""
        with self._lock:
            return self._known.get(request)


def _make(running: Running, job: Job) -> None:
    @contextmanager
    def watch(opened: Opened) -> Iterator[None]:
        running.percent = None if opened.table is None else opened.table.percent
        try:
            yield
        finally:
            running.percent = None

    try:
        result: Made = run(job, watch)  # type: ignore[assignment]
        running.result = result
    except BaseException as error:  # the page must say what became of the request
        running.failure = explained(error)


def page_of(request: str) -> str:
    """The address of the page of a request, whose id may have any printable characters."""
    return f"/release/{quote(request, safe='')}"


def explained(error: BaseException) -> str:
    """An error as sentences that quote no data."""
    if isinstance(error, (PublicError, OSError)):
        return "; ".join([str(error), *getattr(error, "__notes__", [])])
    return (
        f"an unexpected error ({type(error).__name__}); its message may quote data and is left out"
    )


@dataclass(frozen=True)
class Kept:
    """What a ledger knows about a request: its account, and the release if it was recorded."""

    dataset: str
    unit: str
    part: str | None
    result: Made | None


def kept(ledger: Ledger, request: str) -> Kept | None:
    """A request that a ledger was charged for, by any process."""
    found: Kept | None = None
    for entry in ledger.entries():
        content = entry.content
        if content.get("request") != request:
            continue
        if "cost" in content:
            found = Kept(content["dataset"], content["unit"], content["part"], None)
        elif "release" in content and found is not None:
            result: Made = results.from_dict(content["release"])  # type: ignore[assignment]
            found = Kept(found.dataset, found.unit, found.part, result)
    return found
