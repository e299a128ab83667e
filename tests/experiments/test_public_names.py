"""Experiments use public names, so that readers can do the same."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import experiments

FOLDER = Path(experiments.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
PUBLIC = {"dpquantiles", "dpquantiles.data", "dpquantiles.mechanisms", "dpquantiles.privacy"}
FOR_TUNING = {
    ("dpquantiles.kernels.smooth", "smooth_sensitivity"),
    ("dpquantiles.mechanisms.baselines.csmooth", "shape"),
}
"""The paper's choice of t asks for the smooth sensitivity itself, which no release tells."""

OF_THE_PLANNER = {"choice_table.py", "planning.py"}
"""What makes and checks the planner's own tables looks into the planner."""


def imported(module: Path) -> Iterator[tuple[str, str]]:
    """Modules of the library, and the names that are taken from them."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_public_names_are_used(module: Path) -> None:
    for source, name in imported(module):
        if source.partition(".")[0] == "dpquantiles":
            own = module.name in OF_THE_PLANNER
            known = source in PUBLIC or (source, name) in FOR_TUNING
            assert known or own, (source, name)
            assert not name.startswith("_")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_module_says_its_sentence_and_is_short(module: Path) -> None:
    text = module.read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring
    assert docstring.splitlines()[0][-1] in ".:"
    assert len(text.splitlines()) <= 300
