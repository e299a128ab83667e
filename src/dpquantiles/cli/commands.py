"""All commands, in the order in which the help lists them."""

import typer

from dpquantiles.cli.audit import audit
from dpquantiles.cli.demo import demo
from dpquantiles.cli.doctor import doctor
from dpquantiles.cli.ledger import ledger
from dpquantiles.cli.mechanisms import mechanisms
from dpquantiles.cli.plan import plan
from dpquantiles.cli.release import release


def add_commands(app: typer.Typer) -> None:
    """Every command under its name."""
    app.command()(release)
    app.command()(plan)
    app.add_typer(ledger, name="ledger")
    app.command()(mechanisms)
    app.command()(demo)
    app.command()(doctor)
    app.command()(audit)
