"""`dpquantiles show`: a release that was made before, in any format and free of charge."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dpquantiles import results
from dpquantiles.cli import arguments, options, screen
from dpquantiles.cli.options import option
from dpquantiles.cli.outputs import deliver
from dpquantiles.errors import InvalidValue
from dpquantiles.ledger import Ledger
from dpquantiles.present.releases import Shown

STDIN = "-"
LEDGER_START = b"SQLite format 3\0"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON that release or to_json() wrote (- for stdin), or a ledger, which keeps its "
        "releases.",
        show_default=False,
    ),
]
RequestId = Annotated[
    str | None,
    option("--request-id", "ID", "Of a ledger, the release with this name. Default: the last one."),
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
    wanted = arguments.outputs(format, output, plot, force=force, inputs=[file])
    deliver(_result(file, request_id), wanted)


def _result(file: str, request_id: str | None) -> Shown:
    path = Path(file)
    if file != STDIN and path.is_file():
        with path.open("rb") as opened:
            if opened.read(len(LEDGER_START)) == LEDGER_START:
                return results.from_dict(_kept(path, request_id))
    if request_id is not None:
        raise InvalidValue(f"request-id is for ledgers alone, got the file '{file}'")
    try:
        text = sys.stdin.read() if file == STDIN else path.read_text(encoding="utf-8")
    except OSError as error:
        raise type(error)(f"cannot read '{file}': {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    try:
        return results.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InvalidValue(
            f"'{file}' must hold a release as JSON, as release -o release.json writes it"
        ) from None


def _kept(path: Path, request_id: str | None) -> Mapping[str, Any]:
    """The last release of a ledger, or of one of its requests."""
    contents = [entry.content for entry in Ledger(path).entries()]
    kept = [content for content in contents if "release" in content]
    found = [one for one in kept if request_id is None or one["request"] == request_id]
    if not found:
        whose = "" if request_id is None else f" with the request id {request_id!r}"
        raise InvalidValue(f"'{path}' keeps no release{whose}")
    plain: Mapping[str, Any] = found[-1]["release"]
    return plain
