"""The options for how CSV files are written."""

from typing import Annotated

from dpquantiles.cli.options import DATA, option

Na = Annotated[
    list[str] | None,
    option(
        "--na",
        "TEXT",
        "A cell of CSV files that means a missing value, such as -999; may be given several times. "
        "Empty cells and those that are not of the column's type do in any case.",
        DATA,
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        "MARK",
        "What separates the cells of CSV files: ';', '|' or tab. Default: a comma, and a tab in "
        ".tsv files.",
        DATA,
    ),
]
Decimal = Annotated[
    str, option("--decimal", "MARK", "The decimal mark of numbers in CSV files: '.' or ','.", DATA)
]
Thousands = Annotated[
    str | None,
    option("--thousands", "MARK", "What separates thousands in CSV files: ',' in 31,000.", DATA),
]
