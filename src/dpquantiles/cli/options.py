"""The options of `dpquantiles release`, with their help."""

from pathlib import Path
from typing import Annotated

import typer

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
    typer.Option(
        "--sql", metavar="SELECT", help="In place of a file: the result of this query, by DuckDB."
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database", metavar="FILE", help="With --sql: a DuckDB database, opened read-only."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be read, what it would cost and how accurate it would be; read no "
        "record.",
    ),
]
Column = Annotated[
    str, typer.Option("--column", "-c", metavar="NAME", help="The column.", show_default=False)
]
Quantiles = Annotated[
    list[str],
    typer.Option(
        "-q",
        "--quantiles",
        metavar="LIST",
        help="Numbers between 0 and 1 (0.25,0.5,0.75), names (median, quartiles, deciles, "
        "percentiles) or ranges (0.1:0.9:0.1).",
        show_default=False,
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="NUMBER",
        help="The privacy budget, shared by all quantiles; smaller is more private.",
    ),
]
Delta = Annotated[
    str | None,
    typer.Option(
        "--delta", metavar="NUMBER", help="With --epsilon, for (epsilon, delta) mechanisms: 1e-6."
    ),
]
Rho = Annotated[
    str | None,
    typer.Option(
        "--rho", metavar="NUMBER", help="In place of --epsilon: a budget in zCDP, such as 0.5."
    ),
]
Bounds = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--bounds",
        metavar="LOW HIGH",
        help="Where values may lie, known without looking at the data. Not needed, but they help "
        "when data are few.",
    ),
]
Resolution = Annotated[
    str | None,
    typer.Option(
        "--resolution", metavar="STEP", help="The distance between neighboring answers: 0.5, 7d."
    ),
]
Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="NAME",
        help="The column's type: int, float, bool, decimal, date, datetime, timedelta. "
        "By default the file tells; it counts as public.",
    ),
]
NeighborsName = Annotated[
    str,
    typer.Option(
        "--neighbors",
        metavar="NAME",
        help="swap protects what a record holds, add-remove also whether it is there.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="N",
        help="Under add-remove, how many records there are, if that is public and known to within "
        "about 50/epsilon: further off, answers are random. Without it a fifth of epsilon buys a "
        "private count.",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="POLICY",
        help="What stands in for missing cells: lower, upper, a value, or drop (under add-remove).",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="A column that divides the table into groups, each with its own quantiles; may be "
        "given several times.",
        show_default=False,
    ),
]
Keys = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="With --by, the groups to answer for, which must be public: a CSV file with the "
        "columns of --by, or a list (Kent,Essex). Or 'private' (with --delta and --neighbors "
        "add-remove), which finds groups by a selection that is paid for.",
        show_default=False,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="NAME",
        help="The column that names whom rows belong to, whose rows are then protected together.",
        show_default=False,
    ),
]
MaxRowsPerUnit = Annotated[
    str | None,
    typer.Option(
        "--max-rows-per-unit",
        metavar="N",
        help="How many rows of a unit count, at most; 1 unless said otherwise.",
        show_default=False,
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="The algorithm; auto takes one from public numbers, dpquantiles mechanisms lists "
        "them.",
    ),
]
Intervals = Annotated[
    str | None,
    typer.Option(
        "--intervals",
        metavar="LEVEL",
        help="Intervals that hold each true quantile with this chance, such as 0.95; a third of "
        "the budget measures what they rest on.",
    ),
]
IntervalsOf = Annotated[
    str,
    typer.Option(
        "--intervals-of",
        metavar="NAME",
        help="Whose quantiles they hold: data, or population, which covers sampling too.",
    ),
]
Seed = Annotated[
    str | None,
    typer.Option("--seed", metavar="N", help="For tests only: a repeatable result, NOT private."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="text, json or csv. Default: text, json when piped."
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Charge this ledger before the data are read; see dpquantiles ledger.",
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="With --ledger, whose budget is charged."),
]
Part = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="NAME=LABEL",
        help="With --ledger, which disjoint part of the data set the file is: region=north.",
    ),
]
RequestId = Annotated[
    str | None,
    typer.Option(
        "--request-id",
        metavar="ID",
        help="With --ledger, a name for this release: asked again, it is not charged again.",
    ),
]
