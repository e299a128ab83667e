"""Columns of single files, read without an engine."""

from pathlib import Path

from dpquantiles.sources import csv_files, parquet_files
from dpquantiles.sources.memory import TypedColumn
from dpquantiles.sources.named import Named
from dpquantiles.sources.source import SingleFile


def read_column(path: Path, column: str, type_name: str | None = None) -> TypedColumn:
    """One column of a CSV or Parquet file, and its type."""
    named = Named(str(path), type=type_name)
    SingleFile.of(named, column)
    read = csv_files.read_column if named.is_text else parquet_files.read_column
    return read(named, column)
