"""`dpquantiles studio`: a local page to plan, release and keep books."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dpquantiles.cli import screen
from dpquantiles.cli.options import option
from dpquantiles.errors import InvalidValue, MissingBackend
from dpquantiles.ledger import Ledger

LOOPBACK = ("127.0.0.1", "localhost", "::1")

Place = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER",
        help="A folder of CSV, Parquet and DuckDB files, or a single file. Nothing outside it is "
        "opened. Without it you can plan, but not release.",
        show_default=False,
    ),
]
LedgerFile = Annotated[
    Path | None,
    option("--ledger", "FILE", "Charge releases to this ledger, and show what was spent."),
]
Port = Annotated[int, option("--port", "N", "The port; 0 means any free one.")]
Host = Annotated[
    str,
    option(
        "--host",
        "ADDRESS",
        "The address to listen on. By default only this computer can connect. With any other "
        "address, anyone who can reach it and has the printed link can spend the budget, and "
        "nothing is encrypted.",
    ),
]
NoBrowser = Annotated[
    bool, option("--no-browser", None, "Print the link, but do not open a browser.")
]


def studio(
    folder: Place = None,
    ledger: LedgerFile = None,
    port: Port = 8317,
    host: Host = "127.0.0.1",
    no_browser: NoBrowser = False,
) -> None:
    """Plan releases, make them and see what was spent, in a browser on this computer.

    Example: dpquantiles studio data --ledger budget.db
    """
    try:
        from dpquantiles.studio import server
        from dpquantiles.studio.shelf import Shelf
        from dpquantiles.studio.studio import Studio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise MissingBackend(
            "the studio needs Starlette and uvicorn: pip install 'dpquantiles[studio]'"
        ) from None
    if not 0 <= port <= 65535:
        raise InvalidValue(f"port must lie between 0 and 65535, got {port}")
    shelf = Shelf(folder)
    if ledger is not None:
        Ledger(ledger)  # refuses a file that is not one, before anybody relies on it
    listener = server.listening("127.0.0.1" if host == "localhost" else host, port)
    if host not in LOOPBACK:
        screen.warning(
            f"listening on {host}: others on the network may reach it, and nothing is encrypted"
        )

    def started(address: str) -> None:
        screen.result(f"The studio is open: {address}")
        screen.note("the address works once; Ctrl-C ends the studio")
        if not no_browser:
            webbrowser.open(address)

    books = None if ledger is None else ledger.resolve()
    server.serve(Studio(shelf, books), listener, started)
