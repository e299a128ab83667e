"""The way to the values of a column: inside its engine they become such that none of them fails.

One record must not decide between an answer and an error. So no query, conversion or comparison
meets a value of a lazy table as it is: whoever selects a column selects it through `safe`, which
clamps what only some engines can hold, and leaves everything else exactly as it was. Tables in
memory are safe as they are: there `kinds` converts record by record.
"""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from dpquantiles.errors import InvalidType
from dpquantiles.sources.tables import Table

ENGINES = {
    "polars": "polars",
    "duckdb": "duckdb",
    "pyspark": "pyspark",
    "pyspark[connect]": "pyspark",
    "ibis": "ibis",
    "dask": "dask",
}
"""By Narwhals' name of an engine, the module here that knows it."""


def engine_of(table: Table) -> ModuleType:
    """The module that knows the engine of a lazy table."""
    if table.engine not in ENGINES:
        raise InvalidType(
            f"data must be a table of {', '.join(sorted(set(ENGINES.values())))} or a table in "
            f"memory, got one of {table.engine}; collect it first"
        )
    return import_module(f"dpquantiles.sources.{ENGINES[table.engine]}")


def safe(table: Table, columns: Sequence[str]) -> Table:
    """The same rows, with values in these columns that can be compared, hashed and collected.

    Columns keep the types that answers are of. To make a column safe twice changes nothing. Names
    of groups and units are not values: whoever needs them under the name of a value renames them
    first.
    """
    made: Table = engine_of(table).safe(table, columns) if table.lazy else table
    return made
