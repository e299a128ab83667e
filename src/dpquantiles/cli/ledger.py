"""`dpquantiles ledger`: create a ledger, show what was spent, verify it, export it."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dpquantiles import require, written
from dpquantiles.cli import options, screen
from dpquantiles.cli.options import option
from dpquantiles.errors import LedgerError
from dpquantiles.ledger import Ledger, inspection
from dpquantiles.ledger.entries import words
from dpquantiles.present import spending

TAMPERED = 1

ledger = typer.Typer(
    help="Keep a privacy budget for each data set, charged before any data is read.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.", show_default=False)]
Epsilon = Annotated[
    str | None,
    option(
        "--epsilon -e",
        "NUMBER",
        "The budget of each data set, for all its releases together; smaller is more private.",
        options.PRIVACY,
    ),
]
Plot = Annotated[
    Path | None,
    option("--plot", "FILE", "Draw a chart of the spending over time to this SVG file."),
]
Head = Annotated[
    str | None,
    option("--head", "HASH", "A hash that you wrote down earlier; it must still be in the ledger."),
]
EXPORTS: dict[str, Callable[[Ledger], str]] = {"json": Ledger.to_json, "csv": Ledger.to_csv}
Format = Annotated[
    str, option("--format -f", "NAME", "The format to print: json or csv.", options.OUTPUT, EXPORTS)
]


@ledger.command()
def create(
    file: File,
    epsilon: Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    neighbors: options.NeighborsName = "swap",
    quiet: options.Quiet = False,
) -> None:
    """Create a ledger that gives each data set the same budget."""
    screen.hush(quiet)
    budget = written.budget(epsilon, delta, rho, neighbors)
    if file.exists():
        raise FileExistsError(f"'{file}' already exists; name another file")
    Ledger(
        file,
        epsilon=getattr(budget, "epsilon", None),
        delta=getattr(budget, "delta", None),
        rho=getattr(budget, "rho", None),
        neighbors=budget.neighbors,
    )
    screen.note(
        f"created '{file}'; each data set has the budget {words(budget)}, "
        f"{budget.neighbors} neighbors"
    )


@ledger.command()
def show(file: File, plot: Plot = None) -> None:
    """Show what was spent on each data set, over time."""
    opened = Ledger(file)
    if plot is not None:
        screen.write(plot, spending.svg(opened))
    screen.result(screen.apart(spending.text(opened, screen.width())))


@ledger.command()
def verify(file: File, head: Head = None) -> None:
    """Check that no entry was changed; exit code 1 if one was.

    Keep the printed hash somewhere else; later, --head proves that no earlier entry was changed.
    """
    try:
        books = inspection.verify(file, head)
    except LedgerError as error:
        screen.error(str(error))
        raise typer.Exit(TAMPERED) from None
    entries = "1 entry" if books.count == 1 else f"{books.count} entries"
    screen.result(f"{entries} checked, none changed; head {books.head}")


@ledger.command()
def export(file: File, format: Format = "json") -> None:
    """Print all entries as JSON or CSV."""
    screen.result(EXPORTS[require.choice(EXPORTS, format=format)](Ledger(file)))
