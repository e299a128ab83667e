"""Files of users: as downloaded, in columns, absent, malformed; something always stands in."""

import os
from pathlib import Path

import numpy as np
import pytest

from experiments.paper import data
from experiments.paper.tuning import PANELS

HEADER = "bookID,title,authors,average_rating,isbn,  num_pages\n"
FOLDER = os.environ.get("DPQUANTILES_DATA", "")


def books(path: Path, count: int = 1200, header: str = HEADER) -> Path:
    """Like books.csv as downloaded: a header with blanks, quotes, and a few shifted rows."""
    lines = [f'{k},"A, B",C,{3 + k % 200 / 100:.2f},0{k},{k % 900}\n' for k in range(count)]
    lines += [f"{count + k},T,C, Jr.,4.5,1,99\n" for k in range(4)]
    path.write_text(header + "".join(lines), encoding="utf-8")
    return path


def test_books_as_downloaded(tmp_path: Path) -> None:
    tables = data.load([books(tmp_path / "books.csv")])
    assert len(tables.columns["ratings"]) == len(tables.columns["pages"]) == 1200
    assert tables.columns["ratings"].max() == pytest.approx(4.99)
    assert tables.columns["pages"].max() == 899
    assert [tables.name(panel) for panel in PANELS] == list(PANELS)
    assert not any("average_rating" in message for message in tables.messages)


def test_two_files_of_one_column_each_and_a_folder_of_them(tmp_path: Path) -> None:
    ratings, pages = tmp_path / "r.csv", tmp_path / "p.csv"
    ratings.write_text("average_rating\n" + "4.5\n" * 1000, encoding="utf-8")
    pages.write_text("num_pages\n" + "250\n" * 1000, encoding="utf-8")
    for paths in ([ratings, pages], [tmp_path]):
        tables = data.load(paths)
        assert set(tables.columns["ratings"]) == {4.5}
        assert set(tables.sample("pages", 10, 0)) == {2.5}


def test_without_files_the_shipped_flights_stand_in_and_it_is_said() -> None:
    tables = data.load([])
    assert [tables.name(p) for p in PANELS] == ["gaussian", "uniform", "delays", "late"]
    assert tables.name("stars") == "minutes"
    for header in ("average_rating", "num_pages", "hours_per_week", "PINCP"):
        assert sum(header in message for message in tables.messages) == 1
    assert any("Goodreads-books on Kaggle" in message for message in tables.messages)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "is not used"),
        ("", "must have a column"),
        ("a,b\n1,2\n", "must have a column"),
        ("average_rating\n4.5\n", "at least 1000 numbers between 0 and 5, got 1 of 1"),
        ("average_rating\n" + "4.5\n" * 900 + "77\n" * 900, "got 900 of 1800"),
        ("average_rating\n" + "nan\n" * 2000, "got 0 of 2000"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_and_the_rest_runs(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "books.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    tables = data.load([path])
    assert any(words in message and str(path) in message for message in tables.messages)
    assert tables.name("ratings") == "delays"
    assert len(tables.sample("delays", 1000, 0)) == 1000


def test_a_binary_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "books.csv"
    path.write_bytes(bytes(range(256)) * 50)
    assert any("is not used" in message for message in data.load([path]).messages)


def test_samples_depend_on_the_trial_alone() -> None:
    tables = data.load([])
    first = tables.sample("delays", 1000, 0)
    np.testing.assert_array_equal(first, tables.sample("delays", 1000, 0))
    assert not np.array_equal(first, tables.sample("delays", 1000, 1))
    assert tables.sample("late", 1000, 0).min() > 0


def test_made_up_columns_have_the_ties_that_they_are_made_for() -> None:
    tables = data.load([])
    assert np.mean(tables.sample("made-up hours", 100_000, 0) == 40) == pytest.approx(
        0.48, abs=0.02
    )
    assert np.mean(tables.sample("made-up income", 100_000, 0) == 0) == pytest.approx(
        0.13, abs=0.01
    )


@pytest.mark.skipif(not FOLDER, reason="columns that are not shipped: see DPQUANTILES_DATA")
def test_real_columns() -> None:
    tables = data.load([Path(FOLDER)])
    assert tables.messages == ()
    assert len(tables.columns["ratings"]) == len(tables.columns["pages"]) == 11_123
    assert len(tables.columns["income"]) == 23_006
    assert np.mean(tables.columns["hours"] == 40) == pytest.approx(0.467, abs=0.001)
