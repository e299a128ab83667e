"""`dpquantiles show`: a release that was made before, in any format and free of charge."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dpquantiles import results
from dpquantiles.cli import destinations, options, screen
from dpquantiles.cli.options import option
from dpquantiles.cli.outputs import deliver
from dpquantiles.errors import InvalidValue
from dpquantiles.ledger import Ledger
from dpquantiles.present.releases import Shown
from dpquantiles.present.report import Remains
from dpquantiles.present.spending import remains

STDIN = "-"
LEDGER_START = b"SQLite format 3\0"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A JSON file written by release or to_json() (- for standard input), or a ledger, "
        "which keeps its releases.",
        show_default=False,
    ),
]
RequestId = Annotated[
    str | None,
    option("--request-id", "ID", "The release with this ID in a ledger. Default: the last one."),
]


def show(
    file: File,
    request_id: RequestId = None,
    format: options.Format = None,
    output: options.Output = None,
    plot: options.Plot = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Show a saved release again, in any format; it costs nothing.

    Example: dpquantiles show release.json -o release.md -o release.svg
    """
    screen.hush(quiet)
    wanted = destinations.outputs(format, output, plot, force=force, inputs=[file])
    result, rest = _result(file, request_id)
    deliver(result, wanted, remains=rest)


def _result(file: str, request_id: str | None) -> tuple[Shown, Remains | None]:
    path = Path(file)
    if file != STDIN and path.is_file():
        with path.open("rb") as opened:
            if opened.read(len(LEDGER_START)) == LEDGER_START:
                return _kept(path, request_id)
    if request_id is not None:
        raise InvalidValue(f"request-id is only for ledgers, got the file '{file}'")
    try:
        text = sys.stdin.read() if file == STDIN else path.read_text(encoding="utf-8")
    except OSError as error:
        raise type(error)(f"cannot read '{file}': {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    try:
        return results.from_dict(json.loads(text)), None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InvalidValue(
            f"'{file}' must hold a release as JSON, as release -o release.json writes it"
        ) from None


def _kept(path: Path, request_id: str | None) -> tuple[Shown, Remains | None]:
    """The last release of a ledger, or of one of its requests, and what remains there."""
    ledger = Ledger(path)
    contents = [entry.content for entry in ledger.entries()]
    kept = [content for content in contents if "release" in content]
    found = [one for one in kept if request_id is None or one["request"] == request_id]
    if not found:
        whose = "" if request_id is None else f" with the request id {request_id!r}"
        raise InvalidValue(f"'{path}' keeps no release{whose}")
    charge = next(c for c in contents if c.get("request") == found[-1]["request"] and "cost" in c)
    rest = remains(ledger, charge["dataset"], charge["part"], charge["unit"])
    return results.from_dict(found[-1]["release"]), rest
