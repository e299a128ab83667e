"""The command line says what is rounded and clamped of a column's type, before and after."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Command


def test_it_is_said_before_and_after(run: Command, tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, 2, 2**64 - 1] * 99, pa.uint64())})
    pq.write_table(table, tmp_path / "t.parquet")
    asked = ("release", tmp_path / "t.parquet", "-c", "x", "-q", "0.5", "-e", "1")
    for shown in (run(*asked, "--format", "text").out, run(*asked, "--dry-run").out):
        assert "Values above 9,223,372,036,854,774,784 count as" in " ".join(shown.split())
    bounded = (*asked, "--bounds", "0", "1000")
    for shown in (run(*bounded, "--format", "text").out, run(*bounded, "--dry-run").out):
        assert "count as" not in shown
        assert "Values are rounded" not in shown


@pytest.mark.parametrize("pattern", ["t.csv", "t*.csv"])
def test_text_says_what_it_may_hold(pattern: str, run: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "0.12345678\n" * 99)
    asked = ("release", tmp_path / pattern, "-c", "x", "-q", "0.5", "-e", "1", "--type", "decimal")
    for shown in (run(*asked, "--format", "text").out, run(*asked, "--dry-run").out):
        assert "Values are rounded to 6 decimal places." in " ".join(shown.split())
