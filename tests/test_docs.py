"""Every code block of the documentation runs: Python as written, commands as users type them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    """Lines that start with `$ ` and call the command line, in order, in one folder."""
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    for code in blocks(page, "console"):
        for line in code.splitlines():
            if line.startswith("$ dpquantiles"):
                done = subprocess.run(
                    shlex.split(line[2:]), cwd=tmp_path, env=environment, capture_output=True
                )
                assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[)#]", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        if "://" not in target:
            assert (page.parent / target).exists(), target


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
