"""Destinations: where a result goes, checked before anything is released."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dpquantiles import require
from dpquantiles.cli import screen
from dpquantiles.errors import InvalidValue, MissingBackend

PRINTED = ("text", "json", "csv", "md", "html", "svg")
"""The formats that can be printed; files can have one more."""

PARQUET, PARQUET_LIBRARIES = "parquet", ("pyarrow", "polars")
SUFFIXES = {".txt": "text", **{f".{name}": name for name in (*PRINTED[1:], PARQUET)}}


class Outputs(NamedTuple):
    """Where a result goes: to stdout in one format, or not at all, and to files by format."""

    printed: str | None
    files: Mapping[Path, str]


def outputs(
    format: str | None,
    output: Sequence[Path] | None,
    plot: Path | None,
    *,
    force: bool,
    inputs: Iterable[object],
) -> Outputs:
    """Outputs that can be written; the files that a result is made from are never written over."""
    if plot is not None and plot.suffix.lower() != ".svg":
        raise InvalidValue(f"plot must end in .svg, got '{plot}'; for other formats use -o")
    paths = [*(output or ()), *([] if plot is None else [plot])]
    files = {path: _suffix_format(path) for path in paths}
    if len({path.resolve() for path in paths}) < len(paths):
        raise InvalidValue("output must name each file once")
    own = {Path(str(name)).resolve() for name in inputs if name is not None}
    for path in files:
        if path.resolve() in own:
            raise InvalidValue(f"output must not be a file that it is made from, got '{path}'")
        _require_free(path, force=force)
    if PARQUET in files.values() and not any(map(find_spec, PARQUET_LIBRARIES)):
        raise MissingBackend("Parquet files need a library: pip install 'dpquantiles[pyarrow]'")
    if format is not None:
        return Outputs(require.choice(PRINTED, format=format), files)
    return Outputs(None if output else "text" if screen.is_terminal() else "json", files)


def _suffix_format(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"output must end in one of {', '.join(SUFFIXES)}, got '{path}'")
    return SUFFIXES[path.suffix.lower()]


def _require_free(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, and one that cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder; name a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': there is no folder '{path.parent}'")
    try:
        with beside(path).open("xb"):
            pass
        beside(path).unlink()
    except OSError as error:
        raise screen.unwritable(path, error) from None
    if path.exists() and not force:
        raise FileExistsError(f"'{path}' already exists; name another file, or add --force")


def beside(path: Path) -> Path:
    """The file that stands in for another one until it is complete."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")
