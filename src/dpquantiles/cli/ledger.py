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
from dpquantiles.present import spending

TAMPERED = 1

ledger = typer.Typer(
    help="Budgets that last: what was spent on which data set, charged before data are read.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.", show_default=False)]
Epsilon = Annotated[
    str | None,
    option(
        "--epsilon -e",
        "NUMBER",
        "The budget of every data set, shared by all its releases; smaller is more private.",
    ),
]
Plot = Annotated[
    Path | None, option("--plot", "FILE", "Write the spending over time as an SVG picture.")
]
Head = Annotated[
    str | None, option("--head", "HASH", "A hash noted before: it must still be there.")
]
EXPORTS: dict[str, Callable[[Ledger], str]] = {"json": Ledger.to_json, "csv": Ledger.to_csv}
Format = Annotated[
    str, option("--format -f", "NAME", "How to print it: json or csv.", options.OUTPUT, EXPORTS)
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
    """Create a ledger with a budget for every data set."""
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
    screen.note(f"created '{file}' with a budget for every data set: {budget}")


@ledger.command()
def show(file: File, plot: Plot = None) -> None:
    """Show what was spent on which data set, over time."""
    opened = Ledger(file)
    if plot is not None:
        screen.write(plot, spending.svg(opened))
    screen.result(screen.apart(spending.text(opened, screen.width())))


@ledger.command()
def verify(file: File, head: Head = None) -> None:
    """Check every entry and every byte; exit code 1 when something was changed.

    Keep the hash it prints in another place: with --head it proves that nothing before was changed.
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
    """Write all entries to stdout, as JSON or CSV."""
    screen.result(EXPORTS[require.choice(EXPORTS, format=format)](Ledger(file)))
