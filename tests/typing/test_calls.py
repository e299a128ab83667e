"""Type checkers accept right calls and refuse wrong ones, line by line."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import dpquantiles as dpq
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.registry import MechanismName
from dpquantiles.options import GroupOptions, Options
from dpquantiles.planner.reference import SHAPES, Shape
from dpquantiles.privacy import NeighborsName
from dpquantiles.require import NAMED_QUANTILES, QuantilesName

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CALLS = sorted((HERE / "calls").glob("*.py"))
Lines = set[tuple[str, int]]


def marked() -> Lines:
    return {
        (path.name, number)
        for path in CALLS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if line.endswith("# error")
    }


def output(*command: str) -> str:
    environment = {
        **os.environ,
        "MYPYPATH": str(ROOT / "src"),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def refused_by_mypy() -> Lines:
    found = output("mypy", "--strict", *map(str, CALLS))
    return {
        (Path(path).name, int(line))
        for path, line in re.findall(r"^(.+?):(\d+): error: ", found, re.MULTILINE)
    }


def refused_by_pyright() -> Lines:
    found = json.loads(
        output("pyright", "--project", str(HERE), "--pythonpath", sys.executable, "--outputjson")
    )
    assert found["summary"]["filesAnalyzed"] == len(CALLS)
    return {
        (Path(problem["file"]).name, problem["range"]["start"]["line"] + 1)
        for problem in found["generalDiagnostics"]
    }


@pytest.mark.parametrize("refused", [refused_by_mypy, refused_by_pyright])
def test_the_marked_calls_are_refused_and_no_others(refused: Callable[[], Lines]) -> None:
    expected = marked()
    assert len(expected) > 40
    assert refused() == expected


@pytest.mark.parametrize(
    ("literal", "names"),
    [
        (MechanismName, MECHANISMS),
        (QuantilesName, NAMED_QUANTILES),
        (Shape, SHAPES),
        (get_args(NeighborsName)[1], dpq.Neighbors),
    ],
)
def test_names_for_type_checkers_are_the_names_there_are(literal: Any, names: Any) -> None:
    assert get_args(literal) == tuple(map(str, names))


def test_options_for_type_checkers_are_the_parameters_there_are() -> None:
    named = set(inspect.signature(dpq.quantiles).parameters) - {"data", "q"}
    assert set(GroupOptions.__annotations__) == named
    assert set(Options.__annotations__) == named - {"keys"}


@pytest.mark.parametrize(
    "release",
    [
        lambda **options: dpq.quantiles([1], 0.5, **options),
        lambda **options: dpq.median([1], **options),
        lambda **options: dpq.percentiles([1], 50, **options),
        lambda **options: dpq.describe([1], ["x"], **options),
    ],
)
def test_a_wrong_keyword_is_named_at_run_time(release: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'epsilom'"):
        release(epsilom=1)
