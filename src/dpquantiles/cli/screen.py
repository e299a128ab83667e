"""Output: results go to stdout, everything else to stderr, with colors only on a terminal."""

import io
import os
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

SIGPIPE_EXIT = 141
WIDEST = 88

ASCII = str.maketrans("●─▁▂▃▄▅▆▇█", "*-_.:-=+*#")

STYLES = {
    r"^  +(q|private|exact|value|data set).*$": "bold",
    r"─+(?=●)": "bright_black",
    "[●▁▂▃▄▅▆▇█]": "cyan",
    r"^No privacy guarantee.*(\n.+)*": "yellow",
    r"^    dpquantiles [^(\n]*": "cyan",
}
"""The colors of a result, by pattern; the text itself stays plain."""

_quiet = False
"""Whether notes and progress are not wanted."""


def accept_any_text() -> None:
    """Replace characters that a stream cannot write, so that printing never raises."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_terminal() -> bool:
    """Whether a person reads the result."""
    return sys.stdout.isatty()


def width() -> int:
    """How many characters fit on a line."""
    return min(Console(file=sys.stdout).width, WIDEST)


def result(text: str) -> None:
    """Write the result of a command to stdout, colored on a terminal."""
    written = _encodable(f"{text.rstrip()}\n")
    try:
        sys.stdout.write(_colored(written) if is_terminal() else written)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe; the interpreter must not complain about it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SIGPIPE_EXIT) from None


def write(path: Path, text: str) -> None:
    """Write text to a file, or raise an OSError that says what to do."""
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> OSError:
    """An error about a file that cannot be written, which says what to do."""
    return type(error)(f"cannot write '{path}': {error.strerror}; name another file")


def _encodable(text: str) -> str:
    """The text, with its pictures in ASCII if the stream cannot write their characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(ASCII)
    return text


def _colored(text: str) -> str:
    if os.environ.get("NO_COLOR"):
        return text
    console = Console(file=sys.stdout)
    styled = Text(text, end="", no_wrap=True, overflow="ignore")
    for pattern, style in STYLES.items():
        styled.highlight_regex(rf"(?m){pattern}", style)
    with console.capture() as captured:
        console.print(styled, soft_wrap=True)
    return captured.get()


def apart(text: str) -> str:
    """The text, after a blank line on a terminal, where notes may stand above it."""
    return f"\n{text}" if is_terminal() else text


def hush(quiet: bool) -> None:
    """From now on, write notes and show progress, or do neither."""
    global _quiet
    _quiet = quiet


def shows_progress() -> bool:
    """Whether a person waits who wants to see how far things are."""
    return sys.stderr.isatty() and not _quiet


def note(message: str) -> None:
    """Write a note to stderr, unless notes are not wanted."""
    if not _quiet:
        _tell("note", "bright_black", message)


def warning(message: str) -> None:
    """Write a warning to stderr."""
    _tell("warning", "yellow", message)


def error(message: str) -> None:
    """Write an error to stderr, in one line."""
    _tell("error", "bold red", " ".join(message.split()))


def tell(text: str) -> None:
    """Write text to stderr as it is."""
    sys.stderr.write(f"{text}\n")


def _tell(label: str, style: str, message: str) -> None:
    if os.environ.get("NO_COLOR"):
        style = ""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        Text.assemble((f"{label}:", style), " ", message)
    )
