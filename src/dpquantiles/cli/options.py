"""The options of `dpquantiles release`, with their help."""

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file.", show_default=False)
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
        help="Under add-remove, about how many records there are, if that is public. Without it "
        "a fifth of epsilon buys a private count.",
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
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="The algorithm; auto takes one from public numbers, dpquantiles mechanisms lists "
        "them.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show how accurate the release would be, without touching the data; see plan.",
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
