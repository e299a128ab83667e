"""The five jobs of the documentation, with its own commands, on files of the kind that it says."""

import csv
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Command

PAGE = Path(__file__).parents[2] / "docs" / "five_jobs.md"
BLOCK = re.compile(r"^```sh\ndpquantiles (.*?)\n```$", re.MULTILINE | re.DOTALL)
COMMANDS = [one.replace("\\\n", " ") for one in BLOCK.findall(PAGE.read_text("utf-8"))]
RANDOM = np.random.default_rng(5)


def job(word: str) -> list[str]:
    """The command of the page with this word."""
    (command,) = [command for command in COMMANDS if word in command]
    return shlex.split(command)


def write(path: str, rows: Iterable[Iterable[Any]], delimiter: str = ",") -> None:
    with Path(path).open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)


def read(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text("utf-8").splitlines()))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_job_is_one_command() -> None:
    assert len(COMMANDS) == len(re.findall("^## ", PAGE.read_text("utf-8"), re.MULTILINE)) == 5
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [[line for line in block.splitlines() if line] for block in blocks]
    assert all(len(block) <= 5 for block in lines)


def test_deciles_of_income_from_a_messy_file(run: Command) -> None:
    names, pay = ["Clerk", "Nurse", "Teacher", "clerk"], RANDOM.lognormal(10.3, 0.5, 6000)
    european = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in pay]
    cells = [["n/a", "", cell][min(k % 40, 2)] for k, cell in enumerate(european)]
    rows = [[names[k % 4], cell] for k, cell in enumerate(cells)]
    write("income.csv", [["Occupation", "Income"], *rows], delimiter=";")
    assert run(*job("income.csv")).code == 0
    table = read("deciles.csv")
    assert [row["Occupation"] for row in table[::9]] == ["Clerk", "Nurse", "Teacher"]
    assert float(table[4]["value"]) == pytest.approx(np.exp(10.3), rel=0.1)


def test_percentiles_of_users_with_several_rows(run: Command) -> None:
    users, ms = RANDOM.integers(0, 20_000, 200_000), RANDOM.lognormal(3, 1, 200_000)
    pq.write_table(pa.table({"user": users, "ms": ms}), "requests.parquet")
    done = run(*job("requests.parquet")).json
    assert done["guarantee"]["unit"] == "user"
    assert done["values"][0] == pytest.approx(np.exp(3), rel=0.1)
    assert done["values"] == sorted(done["values"])


def test_medians_of_cells_of_which_some_are_tiny(run: Command) -> None:
    regions, ages = [f"R{k:02}" for k in range(30)], [f"{k}0-{k}9" for k in range(10)]
    sizes = {(r, a): 10 if r == "R07" else 100 for r in regions for a in ages}
    cells = [cell for cell, size in sizes.items() for _ in range(size)]
    minutes = RANDOM.gamma(2, 10, len(cells)).round(1)
    rows = [[*cell, value] for cell, value in zip(cells, minutes, strict=True)]
    write("visits.csv", [["region", "age", "minutes"], *rows])
    write("cells.csv", [["region", "age"], *sizes])
    assert run(*job("visits.csv")).code == 0
    table = read("medians.csv")
    assert {(row["region"], row["age"]) for row in table} == {
        cell for cell, size in sizes.items() if size == 100
    }
    assert list(table[0])[2:] == ["q", "value", "lower", "upper", "size", "expected_error"]
    assert "Each interval contains the quantile" in Path("medians.html").read_text("utf-8")


def test_a_picture_for_a_report(run: Command) -> None:
    assert run("demo", "--save", "flights.csv").code == 0
    assert run(*job("flights.csv")).code == 0
    picture = Path("delays.svg").read_text("utf-8")
    assert picture.count("<circle") == 99


def test_the_epsilon_for_an_error_in_dollars(run: Command) -> None:
    done = run(*job("plan"))
    (epsilon,) = re.findall(r"epsilon = ([\d.]+) is enough", done.err)
    assert 0.01 < float(epsilon) < 1
