"""Every code block of the documentation runs: Python as written, commands as users type them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dpquantiles.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return [code for name, code in BLOCK.findall(page.read_text("utf-8")) if name == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), names)


def commands(page: Path) -> list[str]:
    """Lines that start with `$ ` and call the command line, in order."""
    lines = [line for code in blocks(page, "console") for line in code.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ dpquantiles")]


@pytest.mark.usefixtures("rough_plans")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one folder, by the entry point of the command."""
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)


def test_the_installed_command_is_this_one(tmp_path: Path) -> None:
    """As users type it: a process of its own, by its name."""
    scripts = Path(sys.executable).parent
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    typed = shlex.split(commands(ROOT / "README.md")[0])
    done = subprocess.run(typed, cwd=tmp_path, env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == [tmp_path / typed[-1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[)#]", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_site_finds_every_picture(page: Path) -> None:
    """Pages of the site have folders of their own, and only links of Markdown are led out."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert not re.search(r"""<\w+[^>]*\b(src|href)=["'](?!\w+:|#)""", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:`|\$ (?:\w+=\S+ )?)make\s+(\w[\w-]*)", page.read_text("utf-8")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_language_is_known() -> None:
    """A block in a language that no test runs would rot; `cli/test_five_jobs.py` runs its own."""
    for page in PAGES:
        languages = {name for name, _ in BLOCK.findall(page.read_text("utf-8"))}
        known = {"python", "console", "text", *(["sh"] if page.name == "five_jobs.md" else [])}
        assert languages <= known, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_is_wrapped(page: Path) -> None:
    """Tables, code and addresses may be long; sentences are not."""
    prose = re.sub(
        r"^( *)```.*?^\1```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    long = [line for line in prose.splitlines() if len(line) > 110 and line.count(" ") > 2]
    assert [line for line in long if not re.match(r"\s*(\||>|options:|<)", line)] == []
