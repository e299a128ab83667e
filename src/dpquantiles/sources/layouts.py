"""Joins the files of a pattern into one table: columns by name, types by a public rule.

All decisions follow from headers and footers. No record is read, so no record can turn an answer
into an error. Whole and real numbers get a type that holds all of them, and any other type must be
the same in all files.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dpquantiles.sources.duckdb import quoted
from dpquantiles.sources.tables import Listing

NULL = '"NULL"'
"""The type of a column that holds nothing but nulls, which fit in any other type."""

SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
BITS = SIGNED | {f"U{name}": bits + 1 for name, bits in SIGNED.items()}
"""How many bits a signed number needs to hold all values of a type."""

REAL = frozenset({"FLOAT", "DOUBLE"})


class Layout(NamedTuple):
    """Files with equal headers or footers."""

    files: Sequence[str]
    source: str
    """The SQL that reads them."""
    cells: Mapping[str, str]
    """The columns whose name occurs once, and the SQL that selects each."""
    types: Mapping[str, str]
    repeated: Sequence[str] = ()
    """Names that several columns share."""


def common_type(types: Iterable[str]) -> str | None:
    """A type that holds all values of these types; None if the types alone do not tell."""
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
    """The columns that all files have, and their common types.

    SQL ignores the case of names, so names that differ only in case are left out.
    """
    in_all = [name for name in layouts[0].cells if all(name in files.cells for files in layouts)]
    folded = Counter(map(str.lower, in_all))
    joined = {name: common_type(files.types[name] for files in layouts) for name in in_all}
    return {name: type_ for name, type_ in joined.items() if type_ and folded[name.lower()] == 1}


def union(layouts: Sequence[Layout]) -> str:
    """One query for the records of all files."""
    types = shared(layouts)

    def cell(files: Layout, name: str) -> str:
        cast = f"CAST({files.cells[name]} AS {types[name]})"
        same = files.types[name] == types[name]
        return f"{files.cells[name] if same else cast} AS {quoted(name)}"

    return " UNION ALL ".join(
        f"SELECT {', '.join(cell(files, name) for name in types) or 'NULL'} FROM {files.source}"
        for files in layouts
    )


def text(value: str) -> str:
    """Text as a literal of SQL, whatever characters it holds."""
    return "'" + value.replace("'", "''") + "'"


def refusal(layouts: Sequence[Layout], listing: Listing) -> Listing:
    """For a message: why a requested column is not one that all files share."""

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
