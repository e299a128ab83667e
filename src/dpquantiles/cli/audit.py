"""`dpquantiles audit`: look for the worst case against every claim of the installed package."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dpquantiles import require
from dpquantiles.auditing import audit as run_audit
from dpquantiles.cli import screen
from dpquantiles.cli.options import option
from dpquantiles.present import audits

REFUTED = 1
"""The exit code when a claim does not hold."""

FORMATS = ("table", "json")

Full = Annotated[bool, option("--full/--quick", None, "Ten minutes of checks, or one.")]
Names = Annotated[
    list[str] | None, option("--mechanism -m", "NAME", "Audit this one; several are allowed.")
]
Format = Annotated[str, option("--format -f", "FORMAT", "How to write it: table, json.")]
Output = Annotated[
    Path | None, option("--output -o", "FILE", "Write to this file, not to the screen.")
]


def audit(
    full: Full = False,
    mechanism: Names = None,
    format: Format = "table",
    output: Output = None,
) -> None:
    """Check the claims of the installed package; exit code 1 when one does not hold.

    Exact laws over all neighbors of small data sets, sums of budgets, draws of real releases for
    two neighbors side by side, and hostile records. Example: dpquantiles audit -m joint_exp
    """
    require.choice(FORMATS, format=format)
    with _bar() as progress:
        result = run_audit(mechanisms=mechanism, full=full, progress=progress)
    written = result.to_json() if format == "json" else audits.text(result, screen.width())
    if output is None:
        screen.result(written)
    else:
        screen.write(output, written)
        screen.note(f"wrote the audit to '{output}': {audits.verdict(result)}")
    if not result.passed:
        raise typer.Exit(REFUTED)


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """On a terminal, how many checks are done."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total, now: bar.update(
            task, completed=done, total=total, description=now
        )
