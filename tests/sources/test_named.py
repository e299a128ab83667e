"""How much there is to read, by metadata alone."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpquantiles.sources.named import Named, Size
from dpquantiles.sources.source import open_data


@pytest.mark.parametrize("name", ["ages.parquet", "ages.pq", "AGES.PARQUET"])
def test_footers_tell_the_number_of_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    parquet.write_table(pa.table({"age": [1, 2, 3]}), path)
    assert Named(str(path)).size() == Size(1, path.stat().st_size)
    opened = open_data(str(path), "age")
    assert opened.rows() == 3


def test_cells_do_not(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age\n1\n")
    assert Named(str(path)).size() == Size(1, 6)
    opened = open_data(str(path), "age")
    assert opened.rows() is None
    with pytest.raises(FileNotFoundError, match=r"no such file: .*; check the path"):
        Named(str(tmp_path / "*.csv.gz")).size()
