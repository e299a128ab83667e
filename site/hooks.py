"""The site shows proofs, security policy and change log where they stand, and typesets formulas.

A link from a page to a file of the repository leads to the page of that file or, where it has none,
to the file at the project's home.
"""
# ruff: noqa: RUF001  (formulas have Greek letters, primes and minus signs)

import html
import os
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
PROOFS = {f"proofs/{path.stem}.md": path for path in sorted((ROOT / "src").rglob("*.md"))}
ADDED = {"security.md": ROOT / "SECURITY.md", "changes.md": ROOT / "CHANGELOG.md"} | PROOFS
"""Pages from outside the folder of the documentation, by their address on the site."""

LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(?=[)#])")
FORMULA = re.compile(r"(?<=\n\n)((?: {4,}\S.*\n)+)")
NUMBER = re.compile(r"^(.*?)\s{2,}(\(\w+\)(?:, \(\w+\))?)$")
CODE = re.compile(r"(`[^`]+`)")

SUB = re.compile(r"_(\{[^{}]*\}|[A-Za-z0-9α-ω])")
SUP = re.compile(r"\^(\{[^{}]*\}|\([^()]*\)|[A-Za-z0-9−])")
LETTER = re.compile(r"(?<![A-Za-z&<>/])([A-Za-zα-ω])(?![A-Za-z;])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand elsewhere in the repository."""
    for address, path in ADDED.items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Lead links to where they are on the site, and typeset the formulas of proofs."""
    source = ADDED.get(page.file.src_uri, Path(config.docs_dir, page.file.src_uri))
    linked = LINK.sub(lambda link: target(link[1], source, page.file.src_uri, config), markdown)
    return typeset(linked) if page.file.src_uri in PROOFS else linked


def target(link: str, source: Path, address: str, config: MkDocsConfig) -> str:
    """The link of a page to a file, as it is on the site."""
    path = (source.parent / link).resolve()
    pages = {path: page for page, path in ADDED.items()}
    if path in pages or path.is_relative_to(config.docs_dir):
        uri = pages.get(path) or path.relative_to(config.docs_dir).as_posix()
        return PurePosixPath(os.path.relpath(uri, os.path.dirname(address) or ".")).as_posix()
    if path.is_relative_to(ROOT) and path.exists():
        return f"{HOME}/blob/main/{path.relative_to(ROOT).as_posix()}"
    return link


def typeset(proof: str) -> str:
    """A proof whose formulas, in lines of their own or in the text, are set as formulas."""
    parts = FORMULA.split(proof)
    parts[::2] = [inline(text) for text in parts[::2]]
    parts[1::2] = [display(block) for block in parts[1::2]]
    return "".join(parts)


def inline(text: str) -> str:
    """Text whose indices and powers are lowered and raised, outside of code."""
    pieces = CODE.split(text)
    base = r"(?<![\w*])([A-Za-zα-ωΔ][′̂]?)"
    for k in range(0, len(pieces), 2):
        lowered = re.sub(rf"{base}{SUB.pattern}", _lowered, pieces[k])
        pieces[k] = re.sub(rf"(?<=[\w)]){SUP.pattern}", _raised, lowered)
    return "".join(pieces)


def _lowered(match: re.Match[str]) -> str:
    return f"<i>{match[1]}</i><sub>{_inner(match[2])}</sub>"


def _raised(match: re.Match[str]) -> str:
    return f"<sup>{_inner(match[1])}</sup>"


def _inner(group: str) -> str:
    return group[1:-1] if group[0] in "{(" else group


def display(block: str) -> str:
    """Lines of formulas, with their numbers at the right."""
    rows = []
    for line in block.rstrip("\n").split("\n"):
        found = NUMBER.match(line)
        formula, number = (found[1], found[2]) if found else (line, "")
        rows.append(f"<div><span>{_html(formula.strip())}</span><span>{number}</span></div>")
    return f'<div class="formula">{"".join(rows)}</div>\n'


def _html(formula: str) -> str:
    italic = LETTER.sub(r"<i>\1</i>", html.escape(formula, quote=False))
    plain = re.sub(r"_<i>(.)</i>", r"_\1", re.sub(r"\^<i>(.)</i>", r"^\1", italic))
    lowered = SUB.sub(lambda m: f"<sub>{_inner(m[1])}</sub>", plain)
    raised = SUP.sub(_raised, lowered)
    return re.sub(r" {2,}", "&emsp; ", raised)
