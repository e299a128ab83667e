"""Seeded calls of everything that users can ask for, each under a name of its own."""

import datetime as dt
import json
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import dpquantiles as dpq
from dpquantiles.cli import main
from dpquantiles.mechanisms import MECHANISMS

Case = tuple[str, Callable[[], Any]]

SEED = 20_260_101
ROWS = 400
RECORDS = np.random.default_rng(7).lognormal(3.0, 0.7, ROWS).round(2)
DAY, NOON = dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 12)
BERLIN = ZoneInfo("Europe/Berlin")
TABLE: dict[str, list[Any]] = {
    "pay": RECORDS.tolist(),
    "age": (RECORDS * 2).astype(int).tolist(),
    "county": [("Kent", "Essex", "Devon")[k % 3] for k in range(ROWS)],
    "year": [2020 + k % 2 for k in range(ROWS)],
    "person": [f"p{k % 150}" for k in range(ROWS)],
}
KINDS: dict[str, list[Any]] = {
    "int": TABLE["age"],
    "float": TABLE["pay"],
    "bool": [k % 3 == 0 for k in range(ROWS)],
    "decimal": [Decimal(f"{x:.2f}") for x in TABLE["pay"]],
    "date": [DAY + dt.timedelta(days=k) for k in TABLE["age"]],
    "datetime": [NOON + dt.timedelta(hours=k) for k in TABLE["age"]],
    "zoned": [(NOON + dt.timedelta(hours=k)).replace(tzinfo=BERLIN) for k in TABLE["age"]],
    "timedelta": [dt.timedelta(minutes=k) for k in TABLE["age"]],
}
BUDGETS: dict[str, dict[str, float]] = {
    "pure": {"epsilon": 1.0},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "concentrated": {"rho": 0.1},
}
RELATIONS: dict[str, dict[str, Any]] = {
    "swap": {},
    "add-remove": {"neighbors": "add-remove"},
    "stated size": {"neighbors": "add-remove", "size": ROWS},
}


def seeded(ask: Callable[..., Any], *data: Any, **options: Any) -> Callable[[], Any]:
    """The plain form of a seeded release; a refusal is a result as well."""

    def call() -> Any:
        try:
            plain = ask(*data, rng=random.Random(SEED), **options).to_dict()
        except (ValueError, TypeError) as refusal:
            return str(refusal)
        return json.loads(json.dumps(plain))

    return call


def of_mechanisms() -> Iterator[Case]:
    """Every mechanism, budget and relation, for few and for many quantiles."""
    for name in (*MECHANISMS, "auto"):
        for budget, amount in BUDGETS.items():
            for relation, stated in RELATIONS.items():
                options = {**amount, **stated, "mechanism": name, "bounds": (0, 200)}
                case = f"{name}, {budget}, {relation}"
                yield case, seeded(dpq.deciles, RECORDS, **options)
                if budget == "pure":
                    yield f"{case}, median", seeded(dpq.median, RECORDS, **options)
                    more = {**options, "intervals": True}
                    yield f"{case}, intervals", seeded(dpq.quartiles, RECORDS, **more)
        for m, bounds in ((30, (0, 200)), (99, (0, 200)), (99, None)):
            q = [(k + 1) / (m + 1) for k in range(m)]
            options = {"epsilon": 1.0, "mechanism": name, "bounds": bounds}
            if name != "joint_exp" or bounds is not None:  # slow
                yield f"{name}, {m} of {bounds}", seeded(dpq.quantiles, RECORDS, q, **options)

    wrong = {"wrong size": {"neighbors": "add-remove", "size": 2 * ROWS}}
    for relation, stated in {**RELATIONS, **wrong}.items():
        one_grid = {**stated, "epsilon": 1.0, "bounds": (0, 200), "resolution": 0.01}
        case = f"joint_exp, one grid, {relation}"
        yield case, seeded(dpq.deciles, RECORDS, mechanism="joint_exp", **one_grid)

    many = np.arange(20_000) % 9_973
    options = {"epsilon": 2.0, "delta": 1e-6, "bounds": (0, 10_000), "mechanism": "slice_quantiles"}
    yield "slice_quantiles, many records", seeded(dpq.quartiles, many, **options)


def of_kinds() -> Iterator[Case]:
    """Every type, with missing values, by every policy."""
    for kind, values in KINDS.items():
        yield f"{kind} list", seeded(dpq.deciles, values, epsilon=1.0)
        for policy in ("lower", "upper", "drop"):
            options: dict[str, Any] = {"epsilon": 1.0, "missing": policy}
            gaps = [None if k % 7 == 0 else value for k, value in enumerate(values)]
            if policy == "drop":
                options["neighbors"] = "add-remove"
            yield f"{kind} {policy}", seeded(dpq.quartiles, gaps, **options)
    yield "resolution", seeded(dpq.deciles, RECORDS, epsilon=1.0, bounds=(0, 200), resolution=0.5)
    yield "grid", seeded(dpq.deciles, RECORDS, epsilon=1.0, grid=dpq.UniformGrid(0, 100, 5))


def of_sources(folder: Path) -> Iterator[Case]:
    """Every cheap source, each by column, groups, people and description."""
    frame = pl.DataFrame(TABLE)
    frame.write_parquet(folder / "pay.parquet")
    frame.write_csv(folder / "pay.csv")
    parts = [frame[:150], frame[150:]]
    for place, part in enumerate(parts):
        part.write_parquet(folder / f"part-{place}.parquet")
        part.write_csv(folder / f"part-{place}.csv")
    sources: dict[str, Any] = {
        "pandas": pd.DataFrame(TABLE),
        "polars": frame,
        "lazy": frame.lazy(),
        "pyarrow": pa.table(TABLE),
        "duckdb": duckdb.from_arrow(pa.table(TABLE)),
        "parquet": str(folder / "pay.parquet"),
        "csv": str(folder / "pay.csv"),
        "parquet pattern": str(folder / "part-*.parquet"),
        "csv pattern": str(folder / "part-*.csv"),
        "query": f"SELECT * FROM '{folder / 'pay.parquet'}'",
    }
    for name, data in sources.items():
        yield from of_table(name, data)


def of_table(name: str, data: Any) -> Iterator[Case]:
    """What can be asked of one table."""
    pay: dict[str, Any] = {"column": "pay", "epsilon": 1.0}
    protected: dict[str, Any] = {**pay, "neighbors": "add-remove"}
    by: dict[str, Any] = {"by": "county", "keys": ["Kent", "Essex", "Nowhere"]}
    two: dict[str, Any] = {"by": ["county", "year"], "keys": [("Kent", 2020), ("Devon", 2021)]}
    people: dict[str, Any] = {"unit": "person", "max_rows_per_unit": 2}
    yield f"{name}: column", seeded(dpq.deciles, data, **pay)
    yield f"{name}: percentiles", seeded(dpq.quantiles, data, "percentiles", **pay)
    yield f"{name}: intervals", seeded(dpq.quartiles, data, **pay, intervals=0.9)
    yield f"{name}: people", seeded(dpq.median, data, **pay, unit="person")
    yield f"{name}: people twice", seeded(dpq.median, data, **protected, **people)
    yield f"{name}: groups", seeded(dpq.quartiles, data, **pay, **by)
    yield f"{name}: sizes", seeded(dpq.quartiles, data, **protected, **by, size=130)
    yield f"{name}: two keys", seeded(dpq.median, data, **protected, **two)
    yield f"{name}: groups of people", seeded(dpq.median, data, **protected, **by, **people)
    private = {"by": "county", "keys": "private", "delta": 1e-3}
    yield f"{name}: private keys", seeded(dpq.median, data, **protected, **private)
    both = {"epsilon": 1.0, "bounds": {"age": (0, 400)}}
    yield f"{name}: description", seeded(dpq.describe, data, ["pay", "age"], **both)
    yield (
        f"{name}: described people",
        seeded(dpq.describe, data, ["pay", "age"], epsilon=1.0, unit="person"),
    )


def of_plans() -> Iterator[Case]:
    """Plans, which are never random."""
    asked: dict[str, dict[str, Any]] = {
        "deciles": {"size": 1000, "q": "deciles", "epsilon": 1.0, "bounds": (0, 120)},
        "no bounds": {"size": 1000, "q": "deciles", "epsilon": 1.0},
        "rho": {"size": 5000, "q": "quartiles", "rho": 0.1, "bounds": (0.0, 1.0)},
        "protected": {"size": 500, "q": 0.5, "epsilon": 0.5, "neighbors": "add-remove"},
        "tied": {"size": 1000, "q": "deciles", "epsilon": 1.0, "bounds": (0, 99), "data": "tied"},
    }

    def call(options: dict[str, Any]) -> Any:
        return json.loads(dpq.plan(**options).to_json())

    for name, options in asked.items():
        yield name, partial(call, options)


def of_commands(folder: Path, shown: Callable[[], tuple[str, str]]) -> Iterator[Case]:
    """The command line: what it prints, and its exit code."""
    of_pay = ["release", str(folder / "pay.csv"), "-c", "pay", "-e", "1", "--seed", "7"]
    commands = {
        "deciles": [*of_pay, "-q", "deciles"],
        "csv": [*of_pay, "-q", "0.25,0.75", "--format", "csv"],
        "text": [*of_pay, "-q", "median", "--format", "text"],
        "bounds": [*of_pay, "-q", "deciles", "--bounds", "0", "200", "--intervals", "0.9"],
        "groups": [*of_pay, "-q", "median", "--by", "county", "--keys", "Kent,Essex"],
        "people": [*of_pay, "-q", "median", "--unit", "person", "--type", "float"],
        "wrong": [*of_pay, "-q", "median", "--mechanism", "jointexp"],
    }

    def run(arguments: list[str]) -> Any:
        code = main(arguments)
        out, err = (text.replace(str(folder), "FOLDER") for text in shown())
        return {"code": code, "out": out, "err": err}

    for name, arguments in commands.items():
        yield name, partial(run, arguments)
