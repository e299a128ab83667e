"""What a name stands for, told by metadata alone: files, bytes, and rows where a footer says."""

import glob
import os
from typing import NamedTuple

from dpquantiles.sources.files import ADDRESS
from dpquantiles.sources.named import is_many, knows_schema


class Measure(NamedTuple):
    """How much there is to read; None where only reading would tell."""

    files: int | None
    bytes: int | None
    rows: int | None


def measure(name: str) -> Measure:
    """The size of a file, or of all files of a pattern or address."""
    if ADDRESS.match(name):
        return Measure(None, None, _rows(name))
    paths = glob.glob(name, recursive=True) if is_many(name) else [name]
    if not paths:
        raise FileNotFoundError(f"no such file: '{name}'; check the path")
    return Measure(len(paths), sum(map(os.path.getsize, paths)), _rows(name))


def _rows(name: str) -> int | None:
    if not knows_schema(name):
        return None
    from dpquantiles.sources import relations

    return relations.parquet_rows(name)
