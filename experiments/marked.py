"""Parts of a page that commands write, between two marks."""

from collections.abc import Iterable
from pathlib import Path


def marks(name: str) -> tuple[str, str]:
    """Where a part begins and ends."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def put(page: Path, name: str, lines: Iterable[str]) -> None:
    """Write the part, and leave everything around it as it is."""
    begin, end = marks(name)
    before, rest = page.read_text("utf-8").split(begin)
    after = rest.split(end)[1]
    page.write_text(before + "\n".join([begin, "", *lines, "", end]) + after, encoding="utf-8")
