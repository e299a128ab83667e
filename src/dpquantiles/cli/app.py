"""The command line as a whole: all commands, and how an exception becomes an exit code."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from dpquantiles.cli import screen
from dpquantiles.errors import BudgetExceeded, InvalidValue, PublicError
from dpquantiles.version import __version__

USAGE, REFUSED, INTERRUPTED = 2, 3, 130


def _show_version(wanted: bool) -> None:
    if wanted:
        screen.result(f"dpquantiles {__version__}")
        raise typer.Exit


def _describe(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Differentially private quantiles: many at once, exact, at no extra budget per quantile."""


COMMANDS = {
    **{name: name for name in ("release", "show", "plan", "studio", "ledger")},
    **dict.fromkeys(("mechanisms", "demo", "doctor", "audit"), "about"),
}
"""The module of each command, in the order in which the help lists them."""


def _application(given: Sequence[str]) -> typer.Typer:
    """The application: with the given command alone, which saves time, or else with all of them."""
    app = typer.Typer(
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_describe)
    known = [name for name in given[:1] if name in COMMANDS]
    for name in known or (COMMANDS if given != ["--version"] else []):
        command = getattr(import_module(f"dpquantiles.cli.{COMMANDS[name]}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _without_types(command: Any, parent: typer.Context | None = None) -> Any:
    """A command whose help names no types: flags take no value, and arguments have names."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    for param in (*command.params, command.get_help_option(context)):
        if getattr(param, "is_flag", False):
            param.metavar = ""
        if param.param_type_name == "argument":
            # Some versions of Typer add <str> here, and write {FILE} if it is required.
            name = str(param.metavar)
            usage = name if param.required else f"[{name}]"
            param.display_type_rich = lambda **_: ""
            param._usage_display_name = lambda usage=usage: usage
    for part in getattr(command, "commands", {}).values():
        _without_types(part, context)
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success. 1: a check of `doctor`, `audit` or `ledger verify` failed. 2: the call is wrong, and
    the user can correct it. 3: too little budget is left. 4: a release was made and printed, but a
    file could not be written. 130: Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    screen.accept_any_text()
    screen.hush(False)
    try:
        code = _without_types(get_command(_application(given))).main(
            args=_two_bounds(given) or ["--help"], prog_name="dpquantiles", standalone_mode=False
        )
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (PublicError, OSError) as error:
        notes = getattr(error, "__notes__", [])
        screen.error(_as_typed("; ".join([str(error), *notes])))
        return REFUSED if isinstance(error, BudgetExceeded) else USAGE
    except Exception as error:
        # Typer's own errors have this method, whichever copy of Click it uses; others are bugs.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "dpquantiles")
        said = error.format_message().rstrip(".")
        screen.error(f"{said}{' See' if said.endswith(('?', '!')) else '; see'} {command} --help")
        return USAGE
    return code if isinstance(code, int) else 0


def _two_bounds(given: Sequence[str]) -> list[str]:
    """The arguments, with two values after --bounds also where they were typed as one: 0,100."""
    rest, written = list(given), []
    while rest:
        written.append(rest.pop(0))
        if written[-1].startswith("--bounds="):
            name, _, pair = written.pop().partition("=")
            written, rest = [*written, name], [pair, *rest]
        if written[-1] == "--bounds" and rest and not re.match(r"[-+]?\d", "".join(rest[1:2])):
            ends = re.split(r"\s*[,\s]\s*", rest[0].strip(" ()[]"))
            rest = [*ends, *rest[1:]] if len(ends) == 2 and all(ends) else rest
            if not rest[1:] or re.match(r"-+[a-zA-Z]", rest[1]):
                raise InvalidValue(
                    f"bounds must be two values, the lowest and the highest, got {rest[0]!r} "
                    "alone; for example --bounds 0 100"
                )
            written, rest = [*written, *rest[:2]], rest[2:]
    return written


def _as_typed(message: str) -> str:
    """A message with parameters as users type them: neighbors='swap' becomes --neighbors swap."""
    message = re.sub(r"\b(neighbors|missing|keys|unit)='([\w-]+)'", r"--\1 \2", message)
    message = re.sub(r"\b(delimiter|decimal|thousands)=('[^']+')", r"--\1 \2", message)
    message = re.sub(r"\bwith a ledger\b", "with --ledger", message)
    message = re.sub(r"\b(needs|given with) by\b", r"\1 --by", message)
    message = re.sub(r"\brequest_id\b", "request-id", message)
    message = re.sub(r"\b(min|value|rank)_(size|error)\b", r"\1-\2", message)
    message = message.replace("spread=(low, high)", "--spread LOW:HIGH")
    return re.sub(r"\bmax_rows_per_unit(?:=(\d+))?", _rows_option, message)


def _rows_option(match: re.Match[str]) -> str:
    return " ".join(filter(None, ("--max-rows-per-unit", match[1])))
