"""A mechanism from outside the package: one entry, and everything knows it by its name."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpquantiles as dpq
from dpquantiles.cli import main
from dpquantiles.errors import InvalidValue
from dpquantiles.mechanisms import MECHANISMS, registry
from dpquantiles.mechanisms.registry import Registration
from dpquantiles.planner import choose
from dpquantiles.privacy import ZCDP, PureDP

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_mechanism.md"
NAME: Any = "coarse_exp"
BOUNDS = (0, 120)


@pytest.fixture
def entry() -> Iterator[Registration]:
    """The example of the documentation, registered for one test."""
    names: dict[str, Any] = {"__name__": "outside"}
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert code
    exec(code[1], names)
    registered = Registration(mechanism=names["CoarseExp"])
    registry.register(registered)
    yield registered
    registry.unregister(NAME)
    assert NAME not in MECHANISMS
    assert NAME not in registry.REGISTERED


def ages(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(18, 90, n)


@pytest.mark.usefixtures("entry")
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_it_is_released_by_name(neighbors: Any) -> None:
    release = dpq.quartiles(
        ages(1000), epsilon=1.0, bounds=BOUNDS, mechanism=NAME, neighbors=neighbors
    )
    assert release.mechanism == NAME
    assert release.guarantee == PureDP(epsilon=1.0, neighbors=dpq.Neighbors(neighbors))
    assert list(release.values) == sorted(release.values)


@pytest.mark.usefixtures("entry")
def test_it_stands_in_plans() -> None:
    plan = dpq.plan(size=1000, q="quartiles", epsilon=1.0, bounds=BOUNDS)
    assert 0 < plan[NAME].mean < 250
    assert NAME in str(plan)
    assert len(plan.curve(NAME)) > 3
    needed = dpq.epsilon_for(rank_error=0.2, size=1000, q=0.5, bounds=BOUNDS, mechanism=NAME)
    assert 0 < needed < 10
    concentrated = dpq.plan(size=1000, q="quartiles", rho=0.5, bounds=BOUNDS)
    assert "a budget of rho" in concentrated.left_out[NAME]


@pytest.mark.usefixtures("entry")
def test_it_is_released_by_group_and_with_intervals() -> None:
    table = pd.DataFrame({"age": ages(400), "sex": ["f", "m"] * 200})
    groups = dpq.quartiles(
        table, column="age", by="sex", keys=["f", "m"], epsilon=2.0, bounds=BOUNDS, mechanism=NAME
    )
    assert len(groups) == 2
    release = dpq.median(ages(1000), epsilon=2.0, bounds=BOUNDS, mechanism=NAME, intervals=0.9)
    assert len(release.interval()) == 1


@pytest.mark.usefixtures("entry")
def test_commands_list_and_take_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["mechanisms", "--format", "json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed[NAME]["when"] == "an example"
    file = tmp_path / "ages.csv"
    file.write_text("\n".join(["age", *map(str, ages(300).tolist())]) + "\n", "utf-8")
    options = ["-q", "quartiles", "--epsilon", "1", "--bounds", "0", "120", "--mechanism", NAME]
    assert main(["release", str(file), "-c", "age", *options]) == 0


def test_auto_never_chooses_it(entry: Registration) -> None:
    grid = dpq.UniformGrid(*BOUNDS)
    for budget in (PureDP(epsilon=1.0), ZCDP(rho=0.5)):
        assert all(choose(budget, m, 1000, grid).mechanism != NAME for m in (1, 9, 100))
    with pytest.raises(InvalidValue, match="must have a rate for a rho"):
        entry.rate(ZCDP(rho=0.5), 9, grid)


def test_a_name_is_registered_once(entry: Registration) -> None:
    with pytest.raises(InvalidValue, match="must have a name of its own, got 'coarse_exp'"):
        registry.register(entry)


def test_its_draws_follow_its_law(entry: Registration) -> None:
    """The quick draws of a plan are its own releases."""
    mechanism = registry.build(NAME, PureDP(epsilon=1.0), q=(0.75, 0.25))
    view = dpq.ArrayView(ages(200), dpq.UniformGrid(*BOUNDS))
    values = mechanism.release(view, random.Random(3)).values
    assert values[0] >= values[1]
    assert entry.draws_for(5) == 1024
