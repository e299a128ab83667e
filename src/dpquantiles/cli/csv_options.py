"""The options for how CSV files are written."""

from typing import Annotated

from dpquantiles.cli.options import DATA, option

Na = Annotated[
    list[str] | None,
    option(
        "--na",
        "TEXT",
        "Text that marks a missing value in CSV files, such as -999. Repeat it for several. Cells "
        "that are empty or do not fit the column's type always count as missing.",
        DATA,
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        "MARK",
        "What separates the columns of CSV files: ',', ';', '|' or tab. Default: a comma, or a tab "
        "in .tsv files.",
        DATA,
    ),
]
Decimal = Annotated[
    str, option("--decimal", "MARK", "The decimal mark in CSV files: '.' or ','.", DATA)
]
Thousands = Annotated[
    str | None,
    option(
        "--thousands", "MARK", "What separates thousands in CSV files, such as ',' in 31,000.", DATA
    ),
]
