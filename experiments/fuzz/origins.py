"""Where generated data come from: the same rows as a list, an array, a table, a file or a query."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.fuzz.columns import ColumnType
from experiments.fuzz.datasets import COLUMNS, Data

Types = dict[str, ColumnType]
TIMES = ("date", "datetime", "duration")


@dataclass(frozen=True)
class Origin:
    """How rows become what a caller passes."""

    make: Callable[[Data, Types, Path], Any]
    table: bool = True
    declared: bool = True
    """Whether it declares the types of its columns."""
    lazy: bool = False
    families: tuple[str, ...] = ("float", "int", "bool", "decimal", "date", "datetime", "duration")
    zoned: bool = True
    """Whether its datetimes may have a zone."""
    weight: float = 1.0
    """How often it is taken: slow ones seldom."""


def _arrow(data: Data, types: Types) -> Any:
    return pa.table({name: types[name].array(data.column(name)) for name in COLUMNS})


def _records(data: Data, types: Types) -> list[Any]:
    return [types["v"].value(tick) for tick in data.column("v")]


def _objects(data: Data, types: Types, _: Path) -> Any:
    records = np.empty(len(data.rows), dtype=object)
    for place, record in enumerate(_records(data, types)):
        records[place] = record
    return records


def _typed(kind: ColumnType, ticks: list[Any]) -> Any:
    """A typed array; what is null is the type's own, or zero."""
    if kind.family in ("datetime", "duration"):
        letter = "M" if kind.family == "datetime" else "m"
        nat = -(2**63)
        whole = np.array([nat if tick is None else tick for tick in ticks], dtype=np.int64)
        return whole.view(f"{letter}8[{kind.arrow.unit}]")
    if kind.family == "date":
        days = [-(2**63) if tick is None else tick for tick in ticks]
        return np.array(days, dtype=np.int64).view("M8[D]")
    with np.errstate(all="ignore"):
        filled = [0 if tick is None else tick for tick in ticks]
        text = kind.family == "text"
        return np.array(ticks if text else filled, dtype=kind.arrow.to_pandas_dtype())


def _numpy(data: Data, types: Types, _: Path) -> Any:
    return _typed(types["v"], data.column("v"))


def _masked(data: Data, types: Types, folder: Path) -> Any:
    absent = [tick is None for tick in data.column("v")]
    return np.ma.masked_array(_numpy(data, types, folder), absent)


def _pandas(data: Data, types: Types, _: Path) -> Any:
    import pandas as pd

    return _arrow(data, types).to_pandas(types_mapper=pd.ArrowDtype)


def _pandas_numpy(data: Data, types: Types, _: Path) -> Any:
    import pandas as pd

    columns = {name: _typed(types[name], data.column(name)) for name in COLUMNS}
    return pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})


def _pandas_nullable(data: Data, types: Types, _: Path) -> Any:
    import pandas as pd

    known = {pa.bool_(): pd.BooleanDtype()}
    for bits in (8, 16, 32, 64):
        known[getattr(pa, f"int{bits}")()] = getattr(pd, f"Int{bits}Dtype")()
        known[getattr(pa, f"uint{bits}")()] = getattr(pd, f"UInt{bits}Dtype")()
    return _arrow(data, types).to_pandas(types_mapper=known.get)


def _pandas_objects(data: Data, types: Types, _: Path) -> Any:
    import pandas as pd

    columns = {name: [types[name].value(t) for t in data.column(name)] for name in COLUMNS}
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})


def _polars(data: Data, types: Types, _: Path) -> Any:
    import polars as pl

    return pl.DataFrame(_arrow(data, types))


def _duckdb(data: Data, types: Types, _: Path) -> Any:
    import duckdb

    return duckdb.from_arrow(_readable(_arrow(data, types)))


def _readable(table: Any) -> Any:
    """A table that DuckDB can read at all; what is beyond its own types no query gets hold of."""
    import duckdb

    try:
        duckdb.from_arrow(table).to_arrow_table()
    except duckdb.Error as error:
        raise ValueError("beyond DuckDB's types") from error
    return table


def _parquet(data: Data, types: Types, folder: Path) -> str:
    table, half = _readable(_arrow(data, types)), len(data.rows) // 2
    pq.write_table(table.slice(0, half), folder / "part-a.parquet")
    pq.write_table(table.slice(half), folder / "part-b.parquet")
    pq.write_table(table, folder / "whole.parquet")
    return str(folder / "whole.parquet")


def _parquet_parts(data: Data, types: Types, folder: Path) -> str:
    _parquet(data, types, folder)
    return str(folder / "part-*.parquet")


def _query(data: Data, types: Types, folder: Path) -> str:
    return f"SELECT * FROM read_parquet('{_parquet_parts(data, types, folder)}')"


def _polars_scan(data: Data, types: Types, folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(_parquet_parts(data, types, folder))


def _csv(data: Data, types: Types, folder: Path) -> str:
    cells = [[types[name].value(row[name]) for name in COLUMNS] for row in data.rows]
    half = len(cells) // 2
    for name, part in (("whole", cells), ("part-a", cells[:half]), ("part-b", cells[half:])):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *part])
    return str(folder / "whole.csv")


def _csv_parts(data: Data, types: Types, folder: Path) -> str:
    _csv(data, types, folder)
    return str(folder / "part-*.csv")


def _dask(data: Data, types: Types, folder: Path) -> Any:
    import dask.dataframe as dd

    frame: Any = dd
    return frame.from_pandas(_pandas(data, types, folder), npartitions=2)


@cache
def _ibis_connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


def _ibis(data: Data, types: Types, _: Path) -> Any:
    connection = _ibis_connection()
    connection.con.register("survey", _readable(_arrow(data, types)))
    return connection.table("survey")


def _column(make: Callable[[Data, Types, Path], Any]) -> Callable[[Data, Types, Path], Any]:
    return lambda data, types, folder: make(data, types, folder)["v"]


PANDAS = ("float", "int", "bool", "datetime", "duration")
ORDERED = ("float", "int", "bool", "date", "datetime", "duration")
WRITTEN = ("float", "int", "bool", "date", "datetime")
"""Types that the cells of a CSV file tell."""

ORIGINS: dict[str, Origin] = {
    "list": Origin(lambda d, t, _: _records(d, t), table=False, declared=False, weight=2),
    "tuple": Origin(lambda d, t, _: tuple(_records(d, t)), table=False, declared=False),
    "numpy objects": Origin(_objects, table=False, declared=False),
    "numpy": Origin(_numpy, table=False, families=ORDERED, zoned=False, weight=2),
    "numpy masked": Origin(_masked, table=False, families=ORDERED, zoned=False),
    "pandas column": Origin(_column(_pandas), table=False),
    "polars column": Origin(_column(_polars), table=False),
    "pyarrow column": Origin(_column(lambda d, t, _: _arrow(d, t)), table=False),
    "pandas": Origin(_pandas_numpy, families=PANDAS, zoned=False),
    "pandas nullable": Origin(_pandas_nullable, families=("int", "bool")),
    "pandas of arrow": Origin(_pandas),
    "pandas objects": Origin(_pandas_objects, declared=False),
    "polars": Origin(_polars, weight=2),
    "polars lazy": Origin(lambda d, t, f: _polars(d, t, f).lazy(), lazy=True, weight=2),
    "polars scan": Origin(_polars_scan, lazy=True),
    "pyarrow": Origin(lambda d, t, _: _arrow(d, t)),
    "duckdb": Origin(_duckdb, lazy=True, weight=2),
    "duckdb query": Origin(_query, lazy=True),
    "parquet": Origin(_parquet, lazy=True),
    "parquet pattern": Origin(_parquet_parts, lazy=True),
    "csv": Origin(_csv, declared=False, families=WRITTEN, weight=2),
    "csv pattern": Origin(_csv_parts, declared=False, lazy=True, families=WRITTEN),
    "dask": Origin(_dask, lazy=True, weight=0.2),
    "ibis": Origin(_ibis, lazy=True, weight=0.5),
}
"""Everything that is cheap: what needs a server or a virtual machine of its own is left out."""
