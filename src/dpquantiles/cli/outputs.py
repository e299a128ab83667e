"""Outputs: a result in every format, printed and in files, so that nothing is lost."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from dpquantiles.cli import screen
from dpquantiles.cli.destinations import PARQUET, PARQUET_LIBRARIES, Outputs, beside
from dpquantiles.present import releases, report
from dpquantiles.present.releases import Shown
from dpquantiles.present.report import Remains
from dpquantiles.results import Result
from dpquantiles.sources import narwhals as nw

UNWRITTEN = 4
"""The exit code when a release was made, and one of its files could not be written."""

WRITERS: Mapping[str, Callable[[Any], str]] = {
    "text": lambda result: screen.apart(releases.text(result, screen.width())),
    "json": Result.to_json,
    "csv": releases.csv,
    "md": releases.markdown,
    "svg": Result.to_svg,
}
"""How a result is written in each format that can be printed, apart from reports."""

REPORT = "html"


def deliver(
    result: Shown, outputs: Outputs, kept: str = "", remains: Remains | None = None
) -> None:
    """Write a result to all its places; if a file fails, the result is printed."""
    failures = []
    for path, format in outputs.files.items():
        try:
            _write(path, result, format, remains)
        except Exception as error:  # a result that was paid for outlives any accident
            reason = getattr(error, "strerror", None) or error
            failures.append(f"cannot write '{path}': {reason}")
    if outputs.files and not failures:
        names = ", ".join(f"'{path}'" for path in outputs.files)
        screen.note(f"wrote {names}")
    printed = "json" if failures else outputs.printed
    if printed is not None:
        _print(_text(result, printed, remains), result)
    if failures:
        again = "keep the JSON above, which dpquantiles show renders in every format"
        screen.error("; ".join([*failures, again + kept]))
        raise typer.Exit(UNWRITTEN)


def _text(result: Shown, format: str, remains: Remains | None) -> str:
    return report.page(result, remains) if format == REPORT else WRITERS[format](result)


def _write(path: Path, result: Shown, format: str, remains: Remains | None) -> None:
    """Write a whole file or none: the old one stays until the new one is complete."""
    part = beside(path)
    try:
        if format == PARQUET:
            library = next(filter(find_spec, PARQUET_LIBRARIES))
            nw.from_native(result.to_frame(library)).write_parquet(str(part))
        else:
            text = _text(result, format, remains).strip("\n")
            part.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _print(text: str, result: Shown) -> None:
    """Print a result to stdout or, if that cannot be written, to stderr."""
    try:
        screen.result(text)
    except OSError as error:
        screen.error(f"cannot write to stdout: {error.strerror}; here is the release as JSON")
        screen.tell(result.to_json())
        raise typer.Exit(UNWRITTEN) from None
