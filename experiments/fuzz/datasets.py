"""Pairs of data sets with the same public facts: a harmless one, and one made to do harm."""

from dataclasses import dataclass
from random import Random
from typing import Any

from experiments.fuzz.columns import CANARY_TEXT, ColumnType, Odd

Row = dict[str, Any]
COLUMNS = ("v", "w", "g", "h", "u")
"""Two columns of values, two that name groups, and one that names units."""


@dataclass(frozen=True)
class Public:
    """What both data sets must have in common."""

    types: dict[str, ColumnType]
    neighbors: str
    fixed: frozenset[str]
    """Columns that count as public for every row: those of groups under swap neighbors."""
    grouped_by_unit: bool
    declared: bool
    """Whether the types are declared; else at least some usual records must tell them."""
    odd: tuple[Odd, ...]
    """What a cell of the first column may hold besides its type."""


@dataclass(frozen=True)
class Data:
    """Rows, and what to look for in messages."""

    rows: tuple[Row, ...]
    canaries: tuple[str, ...]

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]


def pair(rng: Random, public: Public, n: int) -> tuple[Data, Data]:
    """A harmless data set of n rows and a hostile neighbor, or a far relative, of it."""
    rows = [_usual(rng, public) for _ in range(n)]
    if rows and rng.random() < 0.9:
        place = rng.randrange(n)
        rows[place] = {**rows[place], **_canaries(public, 0)}
    return Data(tuple(rows), _telling(public, 0)), Data(
        tuple(_hostile(rng, public, rows)), _telling(public, 1)
    )


def _usual(rng: Random, public: Public) -> Row:
    row = {name: kind.tick(rng) for name, kind in public.types.items()}
    for name in ("g", "h", "u"):
        if public.types[name].family == "text":
            row[name] = f"{name}{row[name]}"
    if rng.random() < 0.05:
        row["v"] = None
    return row


def _canaries(public: Public, side: int) -> Row:
    """Cells of one row that tell which data set they are from."""
    known = {name: kind.canaries for name, kind in public.types.items()}
    return {name: pair[side] for name, pair in known.items() if pair and name not in public.fixed}


def _telling(public: Public, side: int) -> tuple[str, ...]:
    """How these cells may be written."""
    found = set()
    for name, tick in _canaries(public, side).items():
        value = public.types[name].value(tick)
        found |= {str(tick), str(value), repr(value)}
    return tuple(sorted(found | {CANARY_TEXT[side]}))


def _hostile(rng: Random, public: Public, rows: list[Row]) -> list[Row]:
    changed = [dict(row) for row in rows]
    if public.neighbors != "swap" and rows and rng.random() < 0.4:
        return _fewer(rng, public, changed)
    if public.neighbors != "swap" or not rows:
        extra = rng.choice((1, 1, 2, 7 if public.declared else 2))
        extra = extra if public.neighbors != "swap" else 0
        return changed + [_spoiled(rng, public, _usual(rng, public)) for _ in range(extra)]
    most = len(rows) if public.declared else max(0, min(2, (len(rows) - 4) // 2))
    wanted = rng.choice((1, 1, 1, 2, len(rows)))
    for place in rng.sample(range(len(rows)), min(wanted, most)):
        changed[place] = _spoiled(rng, public, changed[place])
    if public.grouped_by_unit and public.declared:
        again = rng.choice(changed)
        changed += [_spoiled(rng, public, again) for _ in range(rng.randrange(4))]
    return changed


def _fewer(rng: Random, public: Public, rows: list[Row]) -> list[Row]:
    """Rows that are gone: one, all of one unit, or all."""
    if public.declared and rng.random() < 0.3:
        return []
    gone = rng.choice(rows)
    if public.grouped_by_unit and public.declared:
        return [row for row in rows if row["u"] != gone["u"]]
    return [row for row in rows if row is not gone] if len(rows) > 5 else rows


def _spoiled(rng: Random, public: Public, row: Row) -> Row:
    """The same row with cells that do harm."""
    worse = dict(row)
    for name, kind in public.types.items():
        if name in public.fixed:
            continue
        if name == "u" and public.neighbors == "swap":
            continue  # how many units there are is public
        own = [None, *kind.ends, *(kind.canaries[1:] if kind.canaries else ())]
        worse[name] = rng.choice(own if name != "v" else [*own, *public.odd])
    return worse
