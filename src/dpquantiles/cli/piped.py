"""Standard input in place of a file: its header before the charge, everything else after it."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dpquantiles.errors import InvalidValue, PublicError

STANDARD_INPUT = "-"


class Piped(NamedTuple):
    """A file that holds what was read of standard input, and how to read the rest."""

    name: str
    read_rest: Callable[[], None]


@contextmanager
def piped() -> Iterator[Piped]:
    """A temporary file, which holds the header until the rest is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input.csv")
        with _named_as_typed(str(path)):
            yield _begin(path)


def _begin(path: Path) -> Piped:
    if sys.stdin.isatty():
        raise InvalidValue("standard input must be a CSV file, got a terminal; pipe a file into it")
    source = sys.stdin.buffer
    lines = [source.readline()]
    while lines[-1] and not lines[-1].strip():
        lines.append(source.readline())
    path.write_bytes(b"".join(lines))

    def read_rest() -> None:
        with path.open("ab") as file:
            shutil.copyfileobj(source, file)

    return Piped(str(path), read_rest)


@contextmanager
def _named_as_typed(path: str) -> Iterator[None]:
    """Call the file in errors what users call it."""
    try:
        yield
    except (PublicError, OSError) as error:
        if path not in str(error):
            raise
        renamed = type(error)(str(error).replace(path, STANDARD_INPUT))
        for note in getattr(error, "__notes__", ()):
            renamed.add_note(note)
        raise renamed from None
