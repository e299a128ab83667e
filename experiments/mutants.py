"""Mutants: small errors put into the library one at a time, to see whether its tests notice.

    python -m experiments.mutants [--sample 400] [--seed 1] [--again]
                                  [--rows build/mutants/rows.jsonl]

Cosmic Ray says what can go wrong in the modules that privacy rests on: another operator, another
number, a condition turned round, a loop that is left out. Each such error is put into a copy of the
tree, and the tests of the module are run there until one fails. A seed fixes the order in which
they are tried, so that a larger sample holds the smaller one. Rows are kept: a run that was cut off
goes on where it stopped. `--again` tries what survived once more, with more tests.
"""

import argparse
import ast
import difflib
import hashlib
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from experiments import mutant_tests, progress, rows
from experiments.mutant_tests import SURVIVED
from experiments.wilson import score

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/dpquantiles")
PACKAGES = ("privacy", "mechanisms", "kernels", "intervals", "ledger")
COPIED = ("src", "tests", "benchmarks", "experiments", "docs", "pyproject.toml", "README.md")
LEFT_OUT = ("core/ExceptionReplacer",)
"""It fails on names with a dot, and puts in one that is not defined."""

GOLDEN = "golden/test_golden.py"
"""Seeded answers of everything, and the numbers behind them."""

CONTRACT = ["mechanisms/test_limits.py", "contract/test_budgets.py", "contract/test_mechanisms.py"]
"""What is asked of every mechanism; the last takes a minute."""

Position = tuple[int, int]
Place = tuple[str, int, int, str]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One error: what is done to which place of a module of this text."""

    module: str
    operator: str
    occurrence: int
    line: int
    column: int
    digest: str

    @property
    def place(self) -> Place:
        """Where it is, and what kind of thing is changed there."""
        return self.module, self.line, self.column, self.operator.partition("_")[0]

    @property
    def text(self) -> str:
        """The whole text of its module."""
        operator = plugins.get_operator(self.operator)()
        text = mutate_code((ROOT / self.module).read_text("utf-8"), operator, self.occurrence)
        assert isinstance(text, str), f"{self} must change something"
        return text

    @property
    def is_program(self) -> bool:
        """Whether Python takes it: a star before a parameter, for one, is no product."""
        try:
            ast.parse(self.text)
        except SyntaxError:
            return False
        return True


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The tests of all mutants, on the library as it is."""

    digest: str


def modules() -> list[Path]:
    """The modules that are mutated, as paths in the tree."""
    found = (path for package in PACKAGES for path in (ROOT / SOURCE / package).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found)


def mutants(module: Path) -> Iterator[Mutant]:
    """All mutants of a module that change more than annotations, which nothing reads."""
    text = (ROOT / module).read_text("utf-8")
    nodes, annotated = list(ast_nodes(get_ast(text))), _annotations(text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    for operator in sorted(plugins.operator_names()):
        family = plugins.get_operator(operator)
        if family.arguments() or operator in LEFT_OUT:
            continue
        places = [place for node in nodes for place in family().mutation_positions(node)]
        for occurrence, (start, stop) in enumerate(places):
            if not any(low <= start and stop <= high for low, high in annotated):
                yield Mutant(
                    module=module.as_posix(),
                    operator=operator,
                    occurrence=occurrence,
                    line=start[0],
                    column=start[1],
                    digest=digest,
                )


def shuffled(seed: int) -> list[Mutant]:
    """Mutants of all modules, one for each place, drawn and ordered as a seed says.

    An operator has a dozen others to be replaced by, most of which any test notices; all of them
    would count it a dozen times.
    """
    places: dict[Place, list[Mutant]] = {}
    for mutant in (mutant for module in modules() for mutant in mutants(module)):
        places.setdefault(mutant.place, []).append(mutant)
    chance = random.Random(seed)
    drawn = [chance.choice(there) for there in places.values()]
    chance.shuffle(drawn)
    return drawn


def _annotations(text: str) -> list[tuple[Position, Position]]:
    """Where annotations start and end."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            found.append(node.returns)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in found
        if one is not None
    ]


@cache
def _imports(module: Path) -> frozenset[str]:
    """Full names that a module imports, as far as they may be modules."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / module).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return frozenset(found)


def _dotted(module: Path) -> str:
    return ".".join(module.relative_to("src").with_suffix("").parts).removesuffix(".__init__")


@cache
def tests_of(module: Path, wide: bool) -> tuple[str, ...]:
    """Test files, nearest first: named after the module, of its package, or after its importers.

    Without a test of its own it has those of its importers. `wide` adds importers of importers. The
    tests of other mechanisms take minutes and ask about others; what is asked of every mechanism
    counts in their place. Golden answers are asked of every module.
    """
    package = module.relative_to(SOURCE).parts[0]
    near, layer, found = [module], [module], _named_after(module)
    while layer and (wide or not found) and len(near) < len(modules()):
        names = {_dotted(one) for one in layer}
        layer = [other for other in modules() if other not in near and names & _imports(other)]
        layer = [other for other in layer if other.stem != "__init__"]
        near += layer
        found += [file for one in layer for file in _named_after(one)]
    own = [f"{package}/test_*.py"]
    if package == "mechanisms":
        own = CONTRACT if wide else CONTRACT[:2]
    own = ["architecture/test_values.py", GOLDEN, *own]
    found += [path for pattern in own for path in sorted((ROOT / "tests").glob(pattern))]
    return tuple(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in found))


def _named_after(module: Path) -> list[Path]:
    """The tests of a law are those of its mechanism."""
    package, stem = module.relative_to(SOURCE).parent, module.stem.removesuffix("_law")
    folders = (ROOT / "tests" / package, ROOT / "tests")
    return [path for folder in folders for path in sorted(folder.glob(f"test_{stem}*.py"))]


def copy_tree(folder: Path) -> Path:
    """A tree of its own to break."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tree / name)
    return tree


def check_baseline(tree: Path, path: Path) -> None:
    """The tests pass without mutants, and leave their compiled files behind."""
    files = sorted({file for module in modules() for file in tests_of(module, True)})
    folders = (tree / "src", tree / "tests")
    text = b"".join(path.read_bytes() for one in folders for path in sorted(one.rglob("*.py")))
    baseline = Baseline(digest=hashlib.sha256(text).hexdigest()[:16])
    known = rows.missing([baseline], rows.read(path)) == []
    options = ["--collect-only"] if known else []
    found = mutant_tests.run(tree, [*options, *files], compiled=True)
    if found["outcome"] != SURVIVED:
        sys.exit(f"the tests must pass before mutants are tried, got {found}")
    with rows.appending(path) as keep:
        keep(baseline, found)


def attempt(tree: Path, mutant: Mutant, *, wide: bool) -> rows.Found:
    """The fate of one mutant."""
    module = tree / mutant.module
    original = module.read_text("utf-8")
    compiled = module.parent / "__pycache__"
    for stale in compiled.glob(f"{module.stem}.*.pyc"):
        stale.unlink()
    module.write_text(mutant.text, "utf-8")
    start = time.monotonic()
    try:
        found = first_failure(tree, tests_of(Path(mutant.module), wide))
    finally:
        module.write_text(original, "utf-8")
    return {**found, "seconds": round(time.monotonic() - start, 1)}


def first_failure(tree: Path, files: Sequence[str]) -> rows.Found:
    """Most mutants fail in the first file, so that one after the other is run."""
    for file in files:
        found = mutant_tests.run(tree, [file])
        if found["outcome"] != SURVIVED:
            break
    return found


def report(chosen: list[Mutant], found: rows.Rows, total: int) -> str:
    """How many were killed, and all that were not."""
    fates = {mutant: found[rows.key(mutant)] for mutant in chosen if rows.key(mutant) in found}
    alive = [mutant for mutant, fate in fates.items() if fate["outcome"] == SURVIVED]
    if not fates:
        return f"none of {total} mutants was tried"
    killed = len(fates) - len(alive)
    share, low, high = score(killed, len(fates))
    lines = [
        f"{len(fates)} of {total} mutants tried, {killed} killed: {share:.1%}, "
        f"95% interval {low:.1%} to {high:.1%}; survivors:"
    ]
    for mutant in alive:
        lines += [f"{mutant.module}:{mutant.line} {mutant.operator}", *difference(mutant)]
    return "\n".join(lines)


def difference(mutant: Mutant) -> list[str]:
    """The lines that it changes."""
    before = (ROOT / mutant.module).read_text("utf-8").splitlines()
    compared = difflib.ndiff(before, mutant.text.splitlines())
    return [f"    {line}" for line in compared if line[0] in "-+"]


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=400, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "mutants" / "rows.jsonl")
    options: Any = parser.parse_args()
    every = shuffled(options.seed)
    chosen = list(islice((mutant for mutant in every if mutant.is_program), options.sample))
    with rows.alone_in(options.rows.parent):
        tree = copy_tree(options.rows.parent)
        check_baseline(tree, options.rows)
        known = rows.read(options.rows)
        if options.again:
            known = {key: row for key, row in known.items() if row["outcome"] != SURVIVED}
        left = rows.missing(chosen, known)
        with rows.appending(options.rows) as keep, progress.shown("mutants", len(left)) as step:
            for mutant in left:
                keep(mutant, attempt(tree, mutant, wide=options.again))
                step()
    print(report(chosen, rows.read(options.rows), len(every)))


if __name__ == "__main__":
    main()
