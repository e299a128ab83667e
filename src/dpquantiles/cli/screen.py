"""Where output goes: results to stdout, all else to stderr, color only on a terminal."""

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
"""What is colored in a result, by pattern: the text itself stays plain."""


def accept_any_text() -> None:
    """Characters that a stream cannot write are replaced, so that printing never raises."""
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
    """The result of a command, on stdout, colored on a terminal."""
    written = _encodable(f"{text.rstrip()}\n")
    try:
        sys.stdout.write(_colored(written) if is_terminal() else written)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has had enough; the interpreter must not complain on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SIGPIPE_EXIT) from None


def write(path: Path, text: str) -> None:
    """Text to a file, or an OSError that says what to do."""
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise type(error)(f"cannot write '{path}': {error.strerror}; name another file") from None


def _encodable(text: str) -> str:
    """The picture in ASCII where the stream cannot write its characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(ASCII)
    return text


def _colored(text: str) -> str:
    console = Console(file=sys.stdout)
    styled = Text(text, end="", no_wrap=True, overflow="ignore")
    for pattern, style in STYLES.items():
        styled.highlight_regex(rf"(?m){pattern}", style)
    with console.capture() as captured:
        console.print(styled, soft_wrap=True)
    return captured.get()


def apart(text: str) -> str:
    """Text for people, with a blank line between it and the notes above it on a terminal."""
    return f"\n{text}" if is_terminal() else text


def note(message: str) -> None:
    """Something worth knowing, on stderr."""
    _tell("note", "bright_black", message)


def warning(message: str) -> None:
    """Something to mind, on stderr."""
    _tell("warning", "yellow", message)


def error(message: str) -> None:
    """Why nothing was done, in one line on stderr."""
    _tell("error", "bold red", " ".join(message.split()))


def _tell(label: str, style: str, message: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        Text.assemble((f"{label}:", style), " ", message)
    )
