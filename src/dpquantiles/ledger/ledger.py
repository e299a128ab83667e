"""The ledger: charge before data is read, record before a release leaves, never twice."""

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from dpquantiles import privacy
from dpquantiles.errors import LedgerError
from dpquantiles.ledger import entries, file, inspection
from dpquantiles.ledger.books import RULE, Books, ChargedRequest, Owner, Point, Standing, promised
from dpquantiles.ledger.entries import RECORD, Broken, Entry, explained, part_of, require_part
from dpquantiles.ledger.locks import claimed
from dpquantiles.privacy import Guarantee, NeighborsName
from dpquantiles.privacy.spending import Spending
from dpquantiles.version import __version__

SOFTWARE = {"dpquantiles": __version__, "sqlite": sqlite3.sqlite_version}


def utc_now() -> dt.datetime:
    """The time, in UTC."""
    return dt.datetime.now(dt.UTC)


class Recordable(Protocol):
    """A result that a ledger can record."""

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary of public values."""


class RunningRequest:
    """A request that was charged and is still running."""

    def __init__(self, ledger: "Ledger", request: str) -> None:
        self.request = request
        self.recorded: Mapping[str, Any] | None = None
        """The recorded result, as `to_dict` wrote it; None as long as there is none."""
        self._ledger = ledger

    def record(self, result: Recordable) -> Mapping[str, Any]:
        """Record a result before it leaves the process; returns the result as it was recorded."""
        plain = {"action": "release", "request": self.request, "release": result.to_dict()}
        entered: Mapping[str, Any] = self._ledger._append(plain).content["release"]
        self.recorded = entered
        return entered


class Ledger:
    """A privacy budget for each data set, in a file that several processes may charge at once.

    Args:
        path: The file. With a budget it is created if it does not exist; without one it must exist.
        epsilon: The budget of every data set and unit, in pure differential privacy.
        delta: With epsilon, a budget of (epsilon, delta).
        rho: Instead of epsilon, a budget of zero-concentrated differential privacy.
        neighbors: The neighbors of the budget: "swap" (the default) or "add-remove".
        clock: A function that returns the time, as a datetime with a time zone.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        neighbors: NeighborsName | None = None,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self.path = Path(path).resolve()  # locks are beside the file, so it needs one name
        self._clock = clock
        self._books = Books()
        stated = None
        if any(number is not None for number in (epsilon, delta, rho, neighbors)):
            relation = "swap" if neighbors is None else neighbors
            stated = privacy.budget(epsilon=epsilon, delta=delta, rho=rho, neighbors=relation)
            if not self.path.exists():
                with suppress(FileExistsError):  # another process was faster; its budget counts
                    self._create(stated)
        file.identify(Path(path))
        self._catch_up()
        if stated is not None and stated != self.budget:
            raise LedgerError(
                f"ledger '{self.path}' has a different budget: {self.budget}; got {stated}; leave "
                "the budget out to open it as it is"
            )

    def _create(self, budget: Guarantee) -> None:
        stated = {"budget": budget.to_dict(), "rule": RULE}
        first = {"action": "budget", **stated, "ledger": entries.new_id()}
        file.create(self.path, self._written(1, entries.START, first))

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the file for itself."""
        return type(self), (self.path,)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {self.budget})"

    def __len__(self) -> int:
        return self._catch_up().count

    @property
    def budget(self) -> Guarantee:
        """The budget of every data set and unit."""
        return self._books.stated

    @property
    def head(self) -> str:
        """The hash of the last entry. Kept elsewhere, it fixes everything up to that entry."""
        return self._catch_up().head

    def remaining(self, dataset: str, *, part: str | None = None, unit: str = RECORD) -> float:
        """The greatest epsilon, or rho if the budget is in rho, that a release may still spend."""
        account = self._account(dataset, unit)
        return account.remaining(entries.probe(self.budget), part_of(require_part(part=part)))

    def fits(
        self, cost: Guarantee, *, dataset: str, part: str | None = None, unit: str = RECORD
    ) -> bool:
        """Whether a charge would be granted now; nothing is charged."""
        account = self._account(dataset, unit)
        charged_part = part_of(require_part(part=part))
        return account.objection(cost) is None and account.fits(cost, charged_part)

    def spent(self, dataset: str, *, unit: str = RECORD) -> float:
        """The least epsilon (at the budget's delta, if it has one), or rho, that grants all so far.

        It is a promise only if no charge depends on answers (see `guarantee`).
        """
        return self._account(dataset, unit).spent()

    def guarantee(self, dataset: str, *, unit: str = RECORD) -> Guarantee | None:
        """The smallest budget that grants all charges so far, and for whom; None without any.

        The charges keep it together if they were fixed in advance. If they were chosen by looking
        at answers, they keep the budget of the ledger.

        Releases by group under swap neighbors protect less than the budget says, and research
        mechanisms protect less exactly. One such charge has this effect on the whole account.
        """
        return promised(self._account(dataset, unit), unit)

    def _account(self, dataset: str, unit: str) -> Spending:
        owner = Owner(entries.require_name(dataset=dataset), entries.require_name(unit=unit))
        return self._catch_up().account(owner)

    def accounts(self) -> dict[Owner, Standing]:
        """The state of each data set and unit, all at one moment."""
        return self._catch_up().standings(entries.probe(self.budget))

    def history(self) -> list[Point]:
        """The spending of accounts over time, after every charge or, if many, after some."""
        return list(self._catch_up().history())

    def entries(self) -> list[Entry]:
        """All entries, checked again."""
        return file.steadily(self.path, self._entries)

    def _entries(self) -> list[Entry]:
        with explained(self.path), file.reading(self.path) as table:
            everything = list(table.after(0))
            Books.of(everything, table.count())
        return everything

    def to_json(self) -> str:
        """All entries, with their hashes, as JSON text."""
        return entries.as_json(self.entries())

    def to_csv(self) -> str:
        """All entries as CSV, one line each, without the released values."""
        return entries.as_csv(self.entries())

    def verify(self, head: str | None = None) -> str:
        """Check every entry and every byte of the file; returns the hash of the last entry.

        Anyone who can write to the file can replace it with another valid one. So keep the hash
        elsewhere and pass it as `head` later: it must still be the hash of one of the entries.
        """
        return inspection.verify(self.path, head).head

    def charge(
        self,
        cost: Guarantee,
        *,
        dataset: str,
        part: str | None = None,
        unit: str = RECORD,
        request_id: str | None = None,
    ) -> str:
        """Charge for something that is released by other means; returns the id of the request.

        A request that was charged before is not charged again. Raises `BudgetExceeded` if the cost
        does not fit; then nothing is charged.
        """
        charge = entries.charge_content(
            cost, dataset=dataset, part=part, unit=unit, request_id=request_id, parameters={}
        )
        file.require_writable(self.path)
        with claimed(self.path, charge["request"]):
            self._enter(charge)
        return str(charge["request"])

    @contextmanager
    def charged(
        self,
        cost: Guarantee,
        *,
        dataset: str,
        part: str | None = None,
        unit: str | None = None,
        request_id: str | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> Iterator[RunningRequest]:
        """Charge a request, then run the block, which draws its result and records it.

        `parameters` are further fields that must be the same when a request is repeated. A request
        that was charged and recorded before is not charged again, and the block gets the record. If
        it was charged but not recorded, its result never left its process. So it may be drawn again
        under the same charge, by one process at a time. If the block fails before it has recorded a
        result, the charge stays, and a note on the error says so.
        """
        charge = entries.charge_content(
            cost,
            dataset=dataset,
            part=part,
            unit=RECORD if unit is None else unit,
            request_id=request_id,
            parameters=parameters or {},
        )
        file.require_writable(self.path)
        running = RunningRequest(self, charge["request"])
        with claimed(self.path, running.request):
            before = self._enter(charge)
            if before is not None and before.release is not None:
                running.recorded = self._recorded(before.release)
            try:
                if before is not None and running.recorded is None:
                    self._append({"action": "retry", "request": running.request})
                yield running
            except BaseException as error:
                if running.recorded is None:
                    error.add_note(entries.unreleased(charge))
                raise

    def _enter(self, charge: Mapping[str, Any]) -> ChargedRequest | None:
        """Charge a request; if it was charged before, return the earlier request instead."""
        with explained(self.path), file.writing(self.path) as table:
            books = self._read(table)
            before = books.requests.get(charge["request"])
            if before is None:
                books.require_room(charge, self.path)
                table.append([self._next(charge)])
            elif differing := before.differences(charge):
                raise LedgerError(
                    f"request {charge['request']!r} was charged before, in entry {before.charge}, "
                    f"and differs in its {' and '.join(differing)}; use a new request id"
                )
            return before

    def _recorded(self, number: int) -> Mapping[str, Any]:
        with explained(self.path), file.reading(self.path) as table:
            self._read(table)
            plain: Mapping[str, Any] = next(table.after(number - 1)).content["release"]
            return plain

    def _append(self, content: Mapping[str, Any]) -> Entry:
        with explained(self.path), file.writing(self.path) as table:
            books = self._read(table)
            if books.requests[content["request"]].release is not None:
                raise LedgerError(
                    f"request {content['request']!r} was released by another process in the "
                    "meantime; ask again to get that release"
                )
            entry = self._next(content)
            table.append([entry])
        return entry

    def _next(self, content: Mapping[str, object]) -> Entry:
        return self._written(self._books.count + 1, self._books.head, content)

    def _written(self, number: int, previous: str, content: Mapping[str, object]) -> Entry:
        time = self._clock().astimezone(dt.UTC).isoformat(timespec="microseconds")
        stamped = {**content, "time": time.replace("+00:00", "Z"), "software": SOFTWARE}
        return entries.next_entry(number, previous, stamped)

    def _catch_up(self) -> Books:
        return file.steadily(self.path, self._look)

    def _look(self) -> Books:
        with explained(self.path), file.reading(self.path) as table:
            return self._read(table)

    def _read(self, table: file.EntryTable) -> Books:
        """Add the entries that others have written since; one thread at a time does this."""
        books = self._books
        later = table.after(books.count - 1)
        if books.count and next(later, None) != books.last:
            raise Broken("it was replaced while it was in use")
        for entry in later:
            books.add(entry)
        books.require_complete(table.count())
        return books
