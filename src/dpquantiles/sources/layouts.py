"""Files of one pattern as one table: columns are matched by name, types joined by a public rule.

Headers and footers tell all that is decided here, so no record is looked at, and none can turn an
answer into an error: whole and real numbers join to a type that holds them all, and other types
must be the same in all files.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dpquantiles.sources.duckdb import quoted
from dpquantiles.sources.tables import Listing

NULL = '"NULL"'
"""The type of a column without values, which every type can hold."""

SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
BITS = SIGNED | {f"U{name}": bits + 1 for name, bits in SIGNED.items()}
"""Bits of a signed number that hold the values of a type."""

REAL = frozenset({"FLOAT", "DOUBLE"})


class Layout(NamedTuple):
    """Files whose headers or footers say the same."""

    files: Sequence[str]
    source: str
    """The SQL that reads them."""
    cells: Mapping[str, str]
    """The columns that are named once, and what SQL calls each."""
    types: Mapping[str, str]
    repeated: Sequence[str] = ()
    """Names that stand for several columns."""


def common_type(types: Iterable[str]) -> str | None:
    """A type that holds all values of these; None where only the values would tell."""
    stated = set(types)
    if len(stated) > 1:
        stated.discard(NULL)
    if len(stated) == 1:
        return stated.pop()
    if not stated <= REAL | BITS.keys():
        return None
    if stated & REAL:
        return "DOUBLE"
    widest = max(BITS[name] for name in stated)
    return next((name for name, bits in SIGNED.items() if bits >= widest), None)


def shared(layouts: Sequence[Layout]) -> dict[str, str]:
    """The columns that all files have in one type, or in types that join.

    SQL does not tell names apart by case alone, so names that differ in nothing else are left out.
    """
    in_all = [name for name in layouts[0].cells if all(name in files.cells for files in layouts)]
    folded = Counter(map(str.lower, in_all))
    joined = {name: common_type(files.types[name] for files in layouts) for name in in_all}
    return {name: type_ for name, type_ in joined.items() if type_ and folded[name.lower()] == 1}


def union(layouts: Sequence[Layout]) -> str:
    """One query for the records of all files."""
    types = shared(layouts)
    return " UNION ALL ".join(_selected(files, types) for files in layouts)


def _selected(files: Layout, types: Mapping[str, str]) -> str:
    cells = (f"{_cast(files, name, type_)} AS {quoted(name)}" for name, type_ in types.items())
    return f"SELECT {', '.join(cells) or 'NULL'} FROM {files.source}"


def _cast(files: Layout, name: str, type_: str) -> str:
    cell = files.cells[name]
    return cell if files.types[name] == type_ else f"CAST({cell} AS {type_})"


def text(value: str) -> str:
    """Text as SQL takes it, whatever it holds."""
    return "'" + value.replace("'", "''") + "'"


def refusal(layouts: Sequence[Layout], listing: Listing) -> Listing:
    """For a message: why a wanted column is not among those that all files share."""

    def reason(wanted: str, columns: Iterable[str]) -> str:
        for files in layouts:
            if wanted in files.repeated:
                return f"; '{files.files[0]}' has several of that name, so rename them"
        having = [files for files in layouts if wanted in files.cells]
        if not having:
            return listing(wanted, columns if len(layouts) == 1 else layouts[0].cells)
        for files in layouts:
            if wanted not in files.cells:
                return f"; '{files.files[0]}' lacks it{listing(wanted, files.cells)}"
        types = {files.types[wanted]: files.files[0] for files in reversed(layouts)}
        if len(types) > 1:
            listed = " and ".join(f"{type_} in '{file}'" for type_, file in sorted(types.items()))
            return f"; it is {listed}, so write all files with one type"
        return "; names that differ by case alone cannot be told apart here, so rename them"

    return reason
