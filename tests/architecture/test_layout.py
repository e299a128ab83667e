"""The house: modules say their sentence, mechanisms have their proof, proofs their tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import dpquantiles
from dpquantiles.mechanisms import MECHANISMS, count

SOURCE = Path(dpquantiles.__file__).parent
TESTS = Path(__file__).parents[1]
MODULES = sorted(SOURCE.rglob("*.py"))
SECTIONS = ["Claim", "Preconditions", "Proof", "Tested by"]


def module_of(name: str) -> Path:
    """The module of a mechanism; variants that share all but their accounting share a module."""
    return Path(*MECHANISMS[name].__module__.split(".")[1:])


PROOFS = sorted(
    {SOURCE / "mechanisms" / f"{Path(module.__file__ or '').stem}.md" for module in [count]}
    | {SOURCE / f"{module_of(name)}.md" for name in MECHANISMS}
    | set(SOURCE.rglob("*.md"))
)

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
each_proof = pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)


@each_module
def test_every_module_says_its_sentence(module: Path) -> None:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring
    assert re.search(r"[.:]$", docstring.splitlines()[0]), docstring.splitlines()[0]


@each_module
def test_no_module_leaves_work_or_traces_of_a_machine(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)
    assert not re.search(r"(/(?:home|work|tmp|root)/|[A-Z]:\\)", text)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_shares_its_name_with_module_proof_and_test(name: str) -> None:
    mechanism = MECHANISMS[name]
    assert mechanism.name == name
    module = module_of(name)
    assert module.parts[0] == "mechanisms"
    assert name in (module.name, f"app_{module.name}")
    assert (SOURCE / f"{module}.md").is_file()
    assert (TESTS / module.parent / f"test_{module.name}.py").is_file()


@each_proof
def test_a_proof_has_its_sections_in_order(proof: Path) -> None:
    headings = re.findall(r"^#+ (.+?) *$", proof.read_text(encoding="utf-8"), re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS


@each_proof
def test_a_proof_names_tests_that_exist(proof: Path) -> None:
    named = cited(_tested_by(proof))
    assert named, "no test is named"
    assert wrong(named, proof) == []


def test_a_test_of_another_proof_does_not_count() -> None:
    proof = SOURCE / "mechanisms" / "agg_tree.md"
    assert wrong(cited("`test_count_is_never_negative`"), proof)
    assert wrong(cited("`mechanisms/test_agg_tree.py::test_count_is_never_negative`"), proof)
    assert not wrong(cited("`mechanisms/test_count.py::test_count_is_never_negative`"), proof)


def cited(text: str) -> list[tuple[str, str]]:
    """The path, if any, and the name of every test in a text."""
    return re.findall(r"`(?:([\w/.]+)::)?(test_\w+)`", text)


def wrong(named: list[tuple[str, str]], proof: Path) -> list[tuple[str, str]]:
    """Tests that are not where they are said to be.

    Without a path, that is in a test file named after the proof; other packages than the mechanisms
    have one proof for all of their tests.
    """
    package = proof.parent.relative_to(SOURCE)
    stem = proof.stem if package.parts[0] == "mechanisms" else ""
    own = [path for path in _test_files() if path.match(f"{package}/test_{stem}*.py")]
    return [
        (path, name)
        for path, name in named
        if not any(name in _tests(file) for file in ([TESTS / path] if path else own))
    ]


def _tested_by(proof: Path) -> str:
    """The text under the heading, up to the next one."""
    found = re.search(
        r"^#+ Tested by *$(.*?)(?=^#+ |\Z)",
        proof.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return found[1] if found else ""


def _test_files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


@cache
def _tests(path: Path) -> frozenset[str]:
    """The names of all tests of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))
