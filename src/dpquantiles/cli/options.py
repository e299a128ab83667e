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
        help="A .csv, .tsv, .csv.gz or .parquet file; - reads CSV from standard input. Also a "
        "pattern ('data/*.parquet') or a URL (https://..., s3://...), if DuckDB is installed.",
        show_default=False,
    ),
]
Sql = Annotated[
    str | None,
    option("--sql", "SELECT", "Instead of FILE: a query for DuckDB to run.", DATA),
]
Database = Annotated[
    str | None,
    option(
        "--database",
        "FILE",
        "With --sql: the DuckDB database to query; it is opened read-only.",
        DATA,
    ),
]
DryRun = Annotated[
    bool,
    option(
        "--dry-run",
        None,
        "Show what would be read, what it would cost and how accurate it would be, without reading "
        "any record.",
        OUTPUT,
    ),
]
Column = Annotated[str, option("--column -c", "NAME", "The column to summarize.", DATA)]
Quantiles = Annotated[
    list[str],
    option(
        "-q --quantiles",
        "LIST",
        "Which quantiles: numbers between 0 and 1 (0.25,0.5,0.75), percentiles (p50,p99.9), names "
        "(median, quartiles, deciles, percentiles) or ranges (0.1:0.9:0.1).",
        ANSWERS,
        NAMED_QUANTILES,
    ),
]
Epsilon = Annotated[
    str | None,
    option(
        "--epsilon -e",
        "NUMBER",
        "The privacy budget for all quantiles together; smaller is more private.",
        PRIVACY,
    ),
]
Delta = Annotated[
    str | None,
    option(
        "--delta",
        "NUMBER",
        "With --epsilon: the delta of (epsilon, delta) privacy, such as 1e-6.",
        PRIVACY,
    ),
]
Rho = Annotated[
    str | None,
    option("--rho", "NUMBER", "Instead of --epsilon: a budget in zCDP, such as 0.5.", PRIVACY),
]
Bounds = Annotated[
    tuple[str, str] | None,
    option(
        "--bounds",
        "LOW HIGH",
        "The range of possible values, known without looking at the data. Optional, but it helps "
        "when there are few records.",
        ANSWERS,
    ),
]
Resolution = Annotated[
    str | None,
    option(
        "--resolution", "STEP", "The step between possible answers, such as 0.5 or 7d.", ANSWERS
    ),
]
TYPES = "The column's type: int, float, bool, decimal, date, datetime or timedelta."
Type = Annotated[
    str | None,
    option(
        "--type",
        "NAME",
        f"{TYPES} By default it is inferred from the file. It is treated as public.",
        DATA,
        BY_NAME,
    ),
]
NeighborsName = Annotated[
    str,
    option(
        "--neighbors",
        "NAME",
        "What is protected: swap hides what a record says; add-remove also hides whether the "
        "record is in the data.",
        PRIVACY,
        Neighbors,
    ),
]
Size = Annotated[
    str | None,
    option(
        "--size",
        "N",
        "With --neighbors add-remove: the number of records, if it is public. Quantile q is then "
        "the value at rank q times N, even if N is wrong. Without it, a fifth of the budget pays "
        "for a private count; a single quantile needs no count.",
        DATA,
    ),
]
Missing = Annotated[
    str | None,
    option(
        "--missing",
        "POLICY",
        "What to do with missing values: drop them (the default), or count each as the lowest "
        "(lower) or the highest (upper) possible value, or as a value that you give.",
        DATA,
        MISSING_POLICIES,
    ),
]
By = Annotated[
    list[str] | None,
    option(
        "--by",
        "NAME",
        "A column to group by; each group gets its own quantiles. Repeat it to group by several "
        "columns.",
        GROUPS,
    ),
]
Keys = Annotated[
    str | None,
    option(
        "--keys",
        "FILE",
        "With --by: the groups to release, which must be public. Give a CSV file with the --by "
        "columns, or a list (Kent,Essex). Or give 'private' (with --delta and --neighbors "
        "add-remove), which spends part of the budget on finding the groups.",
        GROUPS,
    ),
]
MinSize = Annotated[
    str | None,
    option(
        "--min-size",
        "N",
        "With --by: leave out groups with fewer records than this, by their public or private "
        "sizes.",
        GROUPS,
    ),
]
Unit = Annotated[
    str | None,
    option(
        "--unit",
        "NAME",
        "The column that says whom each row belongs to, such as a user ID. All rows of one unit "
        "are protected together.",
        GROUPS,
    ),
]
MaxRowsPerUnit = Annotated[
    str | None,
    option(
        "--max-rows-per-unit", "N", "Use at most this many rows of each unit. Default: 1.", GROUPS
    ),
]
Mechanism = Annotated[
    str,
    option(
        "--mechanism",
        "NAME",
        "The algorithm. auto chooses one, using public numbers only; dpquantiles mechanisms lists "
        "them all.",
        ANSWERS,
        (AUTO, *MECHANISMS),
    ),
]
Intervals = Annotated[
    str | None,
    option(
        "--intervals",
        "LEVEL",
        "Add a confidence interval to each quantile, at this level, such as 0.95. A third of the "
        "budget pays for the intervals.",
        ANSWERS,
    ),
]
IntervalsOf = Annotated[
    str,
    option(
        "--intervals-of",
        "NAME",
        "What the intervals cover: the quantiles of the data, or of the population that the data "
        "was sampled from.",
        ANSWERS,
        SUBJECTS,
    ),
]
Seed = Annotated[
    str | None,
    option("--seed", "N", "For tests only: the same result every time. NOT private.", PRIVACY),
]
LedgerFile = Annotated[
    Path | None,
    option(
        "--ledger",
        "FILE",
        "Charge the cost to this ledger before any data is read; see dpquantiles ledger.",
        LEDGER,
    ),
]
Dataset = Annotated[
    str | None,
    option("--dataset", "NAME", "With --ledger: the data set whose budget is charged.", LEDGER),
]
Part = Annotated[
    str | None,
    option(
        "--part",
        "NAME=LABEL",
        "With --ledger: which part of the data set this file is, such as region=north. Parts with "
        "different labels must share no records.",
        LEDGER,
    ),
]
RequestId = Annotated[
    str | None,
    option(
        "--request-id",
        "ID",
        "With --ledger: an ID for this release. Repeating the release with the same ID returns the "
        "same answers and costs nothing.",
        LEDGER,
    ),
]
Format = Annotated[
    str | None,
    option(
        "--format -f",
        "NAME",
        "The format to print: text, json, csv, md, html or svg. Default: text on a terminal, json "
        "in a pipe, nothing with -o.",
        OUTPUT,
        PRINTED,
    ),
]
Output = Annotated[
    list[Path] | None,
    option(
        "--output -o",
        "FILE",
        "Write the result to this file. Its suffix sets the format: .json, .csv, .parquet, .md, "
        ".html, .svg or .txt. Repeat it to write several files.",
        OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    option("--plot", "FILE", "Also draw a chart to this SVG file.", OUTPUT),
]
Force = Annotated[bool, option("--force", None, "Overwrite existing files.", OUTPUT)]
Quiet = Annotated[
    bool,
    option(
        "--quiet",
        None,
        "Show no notes and no progress bar; warnings and errors still appear.",
        OUTPUT,
    ),
]
PLAIN_FORMATS = ("text", "json")
PlainFormat = Annotated[
    str, option("--format -f", "NAME", "The format to print: text or json.", OUTPUT, PLAIN_FORMATS)
]
