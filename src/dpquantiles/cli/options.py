"""The options that commands share, with their help."""

from pathlib import Path
from typing import Annotated, Any

import typer


def option(flags: str, metavar: str | None, help: str) -> Any:
    """An option, from its flags with blanks between, the placeholder of its value, and its help."""
    return typer.Option(*flags.split(), metavar=metavar, help=help)


File = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="A .csv or .parquet file, a pattern ('data/*.parquet') or an address (https://..., "
        "s3://...); patterns and addresses are read through DuckDB.",
        show_default=False,
    ),
]
Sql = Annotated[
    str | None,
    option("--sql", "SELECT", "In place of a file: the result of this query, by DuckDB."),
]
Database = Annotated[
    str | None, option("--database", "FILE", "With --sql: a DuckDB database, opened read-only.")
]
DryRun = Annotated[
    bool,
    option(
        "--dry-run",
        None,
        "Show what would be read, what it would cost and how accurate it would be; read no record.",
    ),
]
Column = Annotated[str, option("--column -c", "NAME", "The column.")]
Quantiles = Annotated[
    list[str],
    option(
        "-q --quantiles",
        "LIST",
        "Numbers between 0 and 1 (0.25,0.5,0.75), names (median, quartiles, deciles, "
        "percentiles) or ranges (0.1:0.9:0.1).",
    ),
]
Epsilon = Annotated[
    str | None,
    option(
        "--epsilon -e",
        "NUMBER",
        "The privacy budget, shared by all quantiles; smaller is more private.",
    ),
]
Delta = Annotated[
    str | None,
    option("--delta", "NUMBER", "With --epsilon, for (epsilon, delta) mechanisms: 1e-6."),
]
Rho = Annotated[
    str | None, option("--rho", "NUMBER", "In place of --epsilon: a budget in zCDP, such as 0.5.")
]
Bounds = Annotated[
    tuple[str, str] | None,
    option(
        "--bounds",
        "LOW HIGH",
        "Where values may lie, known without looking at the data. Not needed, but they help "
        "when data are few.",
    ),
]
Resolution = Annotated[
    str | None, option("--resolution", "STEP", "The distance between neighboring answers: 0.5, 7d.")
]
Type = Annotated[
    str | None,
    option(
        "--type",
        "NAME",
        "The column's type: int, float, bool, decimal, date, datetime, timedelta. By default "
        "the file tells; it counts as public.",
    ),
]
NeighborsName = Annotated[
    str,
    option(
        "--neighbors",
        "NAME",
        "swap protects what a record holds, add-remove also whether it is there.",
    ),
]
Size = Annotated[
    str | None,
    option(
        "--size",
        "N",
        "Under add-remove, how many records there are, if that is public: answers are the "
        "quantiles at the ranks q times this number, also if it is wrong. Without it a fifth of "
        "epsilon buys a private count.",
    ),
]
Missing = Annotated[
    str | None,
    option(
        "--missing",
        "POLICY",
        "What becomes of missing values: drop (the default), or lower, upper or a value, which "
        "stands in for them.",
    ),
]
Na = Annotated[
    list[str] | None,
    option(
        "--na",
        "TEXT",
        "A cell of CSV files that means a missing value, such as -999; may be given several times. "
        "Empty cells and those that are not of the column's type do in any case.",
    ),
]
By = Annotated[
    list[str] | None,
    option(
        "--by",
        "NAME",
        "A column that divides the table into groups, each with its own quantiles; may be given "
        "several times.",
    ),
]
Keys = Annotated[
    str | None,
    option(
        "--keys",
        "FILE",
        "With --by, the groups to answer for, which must be public: a CSV file with the columns "
        "of --by, or a list (Kent,Essex). Or 'private' (with --delta and --neighbors "
        "add-remove), which selects groups at a part of the budget.",
    ),
]
Unit = Annotated[
    str | None,
    option(
        "--unit",
        "NAME",
        "The column that names whom each row belongs to; all rows of one unit are protected "
        "together.",
    ),
]
MaxRowsPerUnit = Annotated[
    str | None,
    option(
        "--max-rows-per-unit",
        "N",
        "The most rows of a unit that count; 1 by default.",
    ),
]
Mechanism = Annotated[
    str,
    option(
        "--mechanism",
        "NAME",
        "The algorithm; auto takes one from public numbers, dpquantiles mechanisms lists them.",
    ),
]
Intervals = Annotated[
    str | None,
    option(
        "--intervals",
        "LEVEL",
        "Intervals that hold each true quantile with this chance, such as 0.95; a third of the "
        "budget measures what they rest on.",
    ),
]
IntervalsOf = Annotated[
    str,
    option(
        "--intervals-of",
        "NAME",
        "Whose quantiles they hold: data, or population, which covers sampling too.",
    ),
]
Seed = Annotated[
    str | None, option("--seed", "N", "For tests only: a repeatable result, NOT private.")
]
Format = Annotated[
    str | None, option("--format", "NAME", "text, json or csv. Default: text, json when piped.")
]
LedgerFile = Annotated[
    Path | None,
    option(
        "--ledger", "FILE", "Charge this ledger before the data are read; see dpquantiles ledger."
    ),
]
Dataset = Annotated[
    str | None, option("--dataset", "NAME", "With --ledger, whose budget is charged.")
]
Part = Annotated[
    str | None,
    option(
        "--part",
        "NAME=LABEL",
        "With --ledger, which disjoint part of the data set the file is: region=north.",
    ),
]
RequestId = Annotated[
    str | None,
    option(
        "--request-id",
        "ID",
        "With --ledger, a name for this release: repeated with the same name, it is not charged "
        "again.",
    ),
]
AsJson = Annotated[bool, option("--json", None, "As JSON.")]
