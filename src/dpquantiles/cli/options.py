"""The options that commands share, with their help, and the panels that the help shows them in."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from dpquantiles.cli.destinations import PRINTED
from dpquantiles.intervals import SUBJECTS
from dpquantiles.kinds import BY_NAME
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.planner import AUTO
from dpquantiles.privacy import Neighbors
from dpquantiles.require import NAMED_QUANTILES
from dpquantiles.views import MISSING_POLICIES

DATA, ANSWERS, PRIVACY = "Data", "Answers", "Privacy"
GROUPS, LEDGER, OUTPUT = "Groups and people", "Ledger", "Output"


def option(
    flags: str,
    metavar: str | None,
    help: str,
    panel: str | None = None,
    choices: Iterable[str] = (),
) -> Any:
    """An option, from its flags with blanks between, the placeholder of its value, and its help.

    Shells complete the choices.
    """
    names = [str(name) for name in choices]
    return typer.Option(
        *flags.split(),
        metavar=metavar or "",
        help=help,
        rich_help_panel=panel,
        autocompletion=(lambda incomplete: [n for n in names if n.startswith(incomplete)])
        if names
        else None,
    )


File = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="A .csv, .tsv, .csv.gz or .parquet file, - for CSV from standard input, a pattern "
        "('data/*.parquet') or an address (https://..., s3://...); patterns and addresses are read "
        "through DuckDB.",
        show_default=False,
    ),
]
Sql = Annotated[
    str | None,
    option("--sql", "SELECT", "In place of a file: the result of this query, by DuckDB.", DATA),
]
Database = Annotated[
    str | None,
    option("--database", "FILE", "With --sql: a DuckDB database, opened read-only.", DATA),
]
DryRun = Annotated[
    bool,
    option(
        "--dry-run",
        None,
        "Show what would be read, what it would cost and how accurate it would be; read no record.",
        OUTPUT,
    ),
]
Column = Annotated[str, option("--column -c", "NAME", "The column.", DATA)]
Quantiles = Annotated[
    list[str],
    option(
        "-q --quantiles",
        "LIST",
        "Numbers between 0 and 1 (0.25,0.5,0.75), percentiles (p50,p99.9), names (median, "
        "quartiles, deciles, percentiles) or ranges (0.1:0.9:0.1).",
        ANSWERS,
        NAMED_QUANTILES,
    ),
]
Epsilon = Annotated[
    str | None,
    option(
        "--epsilon -e",
        "NUMBER",
        "The privacy budget, shared by all quantiles; smaller is more private.",
        PRIVACY,
    ),
]
Delta = Annotated[
    str | None,
    option("--delta", "NUMBER", "With --epsilon, for (epsilon, delta) mechanisms: 1e-6.", PRIVACY),
]
Rho = Annotated[
    str | None,
    option("--rho", "NUMBER", "In place of --epsilon: a budget in zCDP, such as 0.5.", PRIVACY),
]
Bounds = Annotated[
    tuple[str, str] | None,
    option(
        "--bounds",
        "LOW HIGH",
        "Where values may lie, known without looking at the data. Not needed, but they help "
        "when there are few records.",
        ANSWERS,
    ),
]
Resolution = Annotated[
    str | None,
    option("--resolution", "STEP", "The distance between neighboring answers: 0.5, 7d.", ANSWERS),
]
Type = Annotated[
    str | None,
    option(
        "--type",
        "NAME",
        "The column's type: int, float, bool, decimal, date, datetime, timedelta. By default "
        "it is read from the file; it counts as public.",
        DATA,
        BY_NAME,
    ),
]
NeighborsName = Annotated[
    str,
    option(
        "--neighbors",
        "NAME",
        "swap protects what a record holds, add-remove also whether it is there.",
        PRIVACY,
        Neighbors,
    ),
]
Size = Annotated[
    str | None,
    option(
        "--size",
        "N",
        "Under add-remove, how many records there are, if that is public: answers are the "
        "quantiles at the ranks q times this number, also if it is wrong. Without it a fifth of "
        "epsilon buys a private count; one quantile needs none.",
        DATA,
    ),
]
Missing = Annotated[
    str | None,
    option(
        "--missing",
        "POLICY",
        "How missing values count: drop (the default) leaves them out; or lower, upper or a value "
        "stands in for them.",
        DATA,
        MISSING_POLICIES,
    ),
]
By = Annotated[
    list[str] | None,
    option(
        "--by",
        "NAME",
        "A column that divides the table into groups, each with its own quantiles; may be given "
        "several times.",
        GROUPS,
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
        GROUPS,
    ),
]
MinSize = Annotated[
    str | None,
    option(
        "--min-size",
        "N",
        "With --by, hide groups of fewer records, by public or private sizes.",
        GROUPS,
    ),
]
Unit = Annotated[
    str | None,
    option(
        "--unit",
        "NAME",
        "The column that names whom each row belongs to; all rows of one unit are protected "
        "together.",
        GROUPS,
    ),
]
MaxRowsPerUnit = Annotated[
    str | None,
    option("--max-rows-per-unit", "N", "The most rows of a unit that count: 1 by default.", GROUPS),
]
Mechanism = Annotated[
    str,
    option(
        "--mechanism",
        "NAME",
        "The algorithm; auto takes one from public numbers, dpquantiles mechanisms lists them.",
        ANSWERS,
        (AUTO, *MECHANISMS),
    ),
]
Intervals = Annotated[
    str | None,
    option(
        "--intervals",
        "LEVEL",
        "Intervals that hold each true quantile with this chance, such as 0.95; a third of the "
        "budget measures what they rest on.",
        ANSWERS,
    ),
]
IntervalsOf = Annotated[
    str,
    option(
        "--intervals-of",
        "NAME",
        "Whose quantiles they hold: data, or population, which covers sampling too.",
        ANSWERS,
        SUBJECTS,
    ),
]
Seed = Annotated[
    str | None, option("--seed", "N", "For tests only: a repeatable result, NOT private.", PRIVACY)
]
LedgerFile = Annotated[
    Path | None,
    option(
        "--ledger",
        "FILE",
        "Charge this ledger before the data are read; see dpquantiles ledger.",
        LEDGER,
    ),
]
Dataset = Annotated[
    str | None,
    option("--dataset", "NAME", "With --ledger, the data set whose budget is charged.", LEDGER),
]
Part = Annotated[
    str | None,
    option(
        "--part",
        "NAME=LABEL",
        "With --ledger, which disjoint part of the data set the file is: region=north.",
        LEDGER,
    ),
]
RequestId = Annotated[
    str | None,
    option(
        "--request-id",
        "ID",
        "With --ledger, a name for this release: repeated with the same name, it is not charged "
        "again.",
        LEDGER,
    ),
]
Format = Annotated[
    str | None,
    option(
        "--format -f",
        "NAME",
        "How to print it: text, json, csv, md, html or svg. Default: text on a terminal, json when "
        "piped, nothing with -o.",
        OUTPUT,
        PRINTED,
    ),
]
Output = Annotated[
    list[Path] | None,
    option(
        "--output -o",
        "FILE",
        "Write it to this file, in the format of its ending: .json, .csv, .parquet, .md, .html, "
        ".svg or .txt; may be given several times.",
        OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    option("--plot", "FILE", "Draw it to this SVG file, beside all other output.", OUTPUT),
]
Force = Annotated[bool, option("--force", None, "Write over files that exist.", OUTPUT)]
Quiet = Annotated[
    bool, option("--quiet", None, "No notes and no progress; warnings and errors stay.", OUTPUT)
]
PLAIN_FORMATS = ("text", "json")
PlainFormat = Annotated[
    str, option("--format -f", "NAME", "How to print it: text or json.", OUTPUT, PLAIN_FORMATS)
]
