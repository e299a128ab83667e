"""`dpquantiles release --dry-run`: what would be read and what it would cost."""

from dpquantiles.charging import Account
from dpquantiles.cli.place import Schema
from dpquantiles.grid import Held
from dpquantiles.ledger import charges
from dpquantiles.ledger.books import RECORD
from dpquantiles.present import words
from dpquantiles.privacy import Guarantee, Neighbors
from dpquantiles.request import Request
from dpquantiles.sources.metadata import Measure

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
UNKNOWN_TYPE = "its type is told when it is read; state it with --type"


def report(
    where: str,
    column: str,
    schema: Schema | None,
    size: Measure,
    request: Request,
    promise: Guarantee,
    account: Account | None = None,
) -> str:
    """Lines for people; the number of rows only where neighbors leave it public."""
    amounts = [
        _counted(size.files, "file"),
        None if size.bytes is None else _bytes(size.bytes),
        _counted(size.rows, "row") if rows_are_public(promise) else None,
    ]
    held = ", ".join(amount for amount in amounts if amount)
    count = len(set(request.q))
    lines = {
        "Reads": where + (f" ({held})" if held else ""),
        "Column": f"{column}: {UNKNOWN_TYPE if schema is None else schema.kind.name}",
        "Scans": "one in memory, or two by an engine; more only where values crowd together",
        "Draws": f"{count} quantile{'s' if count > 1 else ''} by {request.mechanism}",
        "Costs": words.guarantee(promise),
    }
    if schema is not None and request.grid is not None:
        notes = Held(request.grid, schema.domain).notes
        lines |= {"Rounds": " ".join(notes)} if notes else {}
    if account is not None:
        lines["Budget"] = _left(account, request.budget, promise.unit or RECORD)
    told = [f"{name + ':':<8} {line}" for name, line in lines.items()]
    return "\n".join([*told, "", "Dry run: no record was read, nothing was released."])


def _left(account: Account, cost: Guarantee, unit: str) -> str:
    """What the ledger would say to the charge; one that was made before it would not make again."""
    ledger, dataset, part = account.ledger, account.dataset, account.part
    left = charges.digits(ledger.remaining(dataset, part=part, unit=unit))
    known = f"{charges.measure(ledger.budget)} = {left} remains of {charges.words(ledger.budget)}"
    fits = ledger.fits(cost, dataset=dataset, part=part, unit=unit)
    return known if fits else f"{known}; a new request of this cost would be refused"


def rows_are_public(promise: Guarantee) -> bool:
    """Whether the number of rows is public: of units, only the number of units is."""
    return promise.neighbors is Neighbors.SWAP and promise.unit is None


def _counted(number: int | None, noun: str) -> str | None:
    if number is None:
        return None
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bytes(size: int) -> str:
    power = min(max(0, len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:,.{min(power, 1)}f} {UNITS[power]}"
