"""CSV files, compressed or not: their headers, and a column of one file by the standard library."""

import codecs
import csv
import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from dpquantiles.errors import InvalidValue, UnreadableData
from dpquantiles.kinds import Kind
from dpquantiles.sources.cells import SAMPLE, looks_like_a_value, read_cells
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Named, check_readable
from dpquantiles.sources.tables import nearest

OTHER_COMMAS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
"""What often stands between cells."""

LONGEST_LINE = 1 << 26
"""Engines get files whose lines have fewer bytes than this."""

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading a file raises that is cut off or damaged."""


def require_column(file: Named, column: str) -> None:
    """Refuse a file without this column; only the names of its columns are read."""
    path = Path(file.name)
    position(read_header(path, file.comma).names, column, path, file.comma)


def read_column(file: Named, column: str) -> TypedColumn:
    """One column, and its type.

    A CSV file has no schema, so the file's `type` states the type of the column. Without it, the
    first cells tell the type (see `dpquantiles.sources.cells`). Either way, it counts as public.
    """
    with _cells(file, column) as cells:
        return read_cells(list(cells), column, file.type, file.dialect)


def column_kind(file: Named, column: str) -> Kind:
    """The type that the first cells of a column tell, or the stated one."""
    with _cells(file, column) as cells:
        return read_cells(list(islice(cells, SAMPLE)), column, file.type, file.dialect).kind


@contextmanager
def _cells(file: Named, column: str) -> Iterator[Iterator[str]]:
    path = Path(file.name)
    with _rows(path, file.comma) as rows:
        names = header_of(rows, path).names
        index = position(names, column, path, file.comma)
        if len(names) > 1:  # in a file with one column, a blank line is a missing cell
            rows = filter(None, rows)
        try:
            yield (row[index].strip() if index < len(row) else "" for row in rows)
        except DAMAGE as error:
            raise UnreadableData(_damaged(path, error)) from None


@contextmanager
def _rows(path: Path, comma: str) -> Iterator[Iterator[list[str]]]:
    # The csv module raises on cells over 128 kB, and data must never raise. The limit belongs to
    # the whole process: it is not reset, because another thread may be reading.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield csv.reader(file, delimiter=comma)


def is_plain(file: Named) -> bool:
    """Whether all readers divide a file into the same cells.

    It must be UTF-8 with one kind of line ends, quotes must enclose whole cells, no line may be
    very long, and the names of columns must differ in more than case. This is asked after the
    charge and decides only who reads the file, never the answer.
    """
    path = Path(file.name)
    names = read_header(path, file.comma).names
    if path.suffix.lower() == ".gz" or len(set(map(str.lower, names))) < len(names):
        return False
    with path.open("rb") as lines:
        longest = max(map(len, lines), default=0)
        if not 0 < longest < LONGEST_LINE:
            return False
        with mmap(lines.fileno(), 0, access=ACCESS_READ) as text:
            first = text.find(b"\n")
            windows = first > 0 and text[first - 1 : first] == b"\r"
            return _is_utf8(text) and _plain_text(file.comma, windows).fullmatch(text) is not None


def _is_utf8(text: mmap) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block := text.read(1 << 20):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _plain_text(comma: str, windows: bool) -> re.Pattern[bytes]:
    """Text without quotes or with quotes around whole cells, and with line ends of one kind."""
    delimiter = re.escape(comma.encode())
    end = rb"\r\n" if windows else rb"\n"
    quoted = rb"(?<![^" + delimiter + rb'\n])"(?:[^"\r\n]|"")*+"(?=' + delimiter + rb"|\r?\n|\Z)"
    return re.compile(rb'(?:[^"\r\n]++|' + end + rb"|" + quoted + rb")*+")


class Header(NamedTuple):
    """The names of the columns, and the number of blank lines before them."""

    names: tuple[str, ...]
    blank: int


def header_of(rows: Iterator[list[str]], path: str | Path) -> Header:
    """The first line that is not blank, which names the columns."""
    blank, names = next(((count, row) for count, row in enumerate(rows) if row), (0, []))
    header = Header(tuple(name.strip() for name in names), blank)
    if not any(header.names):
        raise InvalidValue(
            f"'{path}' must begin with a line of column names, got none; "
            "add one, and below it one line per record"
        )
    return header


def read_header(path: Path, comma: str) -> Header:
    """The header of a CSV file, compressed or not. Nothing else of it is read."""
    check_readable(path)
    try:
        with _rows(path, comma) as rows:
            return header_of(rows, path)
    except DAMAGE as error:
        raise InvalidValue(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    return f"'{path}' cannot be read as CSV ({type(error).__name__}); it may be cut off or damaged"


def position(names: Sequence[str], column: str, path: str | Path, comma: str = ",") -> int:
    """The index of the column; ValueError if there is none, or more than one."""
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        raise InvalidValue(
            f"'{path}' must have one column {column!r}, got {names.count(column)}; rename them"
        )
    raise InvalidValue(f"'{path}' has no column {column!r}{first_line(column, names, comma)}")


def first_line(wanted: str, columns: Iterable[str], comma: str = ",") -> str:
    """For a message: the columns that the first line names, unless that line may be a record."""
    names = tuple(columns)
    if any("\ufffd" in name or "\0" in name for name in names):
        return "; it does not look like text in UTF-8, so write it as CSV in UTF-8 first"
    other = _other_comma(names, comma)
    if other is not None:
        found, used = OTHER_COMMAS[other], OTHER_COMMAS.get(comma, repr(comma))
        decimal = "; if its numbers are written like 1,5, add decimal=','" if other == ";" else ""
        return (
            f"; its first line is separated by {found}, not by {used}: add "
            f"delimiter={other!r}{decimal}"
        )
    if any(map(looks_like_a_value, names)):
        return (
            "; its first line holds numbers or dates, so it may be a record and is not shown; "
            "the first line must name the columns"
        )
    return nearest(wanted, names)


def _other_comma(names: Sequence[str], comma: str) -> str | None:
    """What seems to stand between the names of a header that was divided in a wrong place."""
    line = comma.join(names)
    found = max((other for other in OTHER_COMMAS if other != comma), key=line.count)
    return found if line.count(found) >= max(1, len(names) - 1) else None
