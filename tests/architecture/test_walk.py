"""One path: a call crosses few files, and decides, opens and charges everything once."""

from pathlib import Path

from tests.architecture.walk import of_deciles, of_groups

MOST_FILES, MOST_FILES_BY_GROUP = 36, 54


def test_deciles_of_a_series_cross_few_files() -> None:
    seen = of_deciles()
    assert seen.arrived
    assert len(seen.files) <= MOST_FILES
    assert seen.calls["job.py:Job.price"] == 1
    assert seen.calls["sources/memory.py:read"] == 1


def test_a_release_by_group_opens_prices_and_charges_once(tmp_path: Path) -> None:
    seen = of_groups(tmp_path)
    assert seen.arrived
    assert len(seen.files) <= MOST_FILES_BY_GROUP
    once = (
        "job.py:Job.__post_init__",
        "job.py:Job.price",
        "run.py:run",
        "run.py:open_job",
        "sources/source.py:open_whole",
        "sources/relations.py:open_parquet",
        "sources/relations.py:_connect",
        "ledger/ledger.py:Ledger._enter",
    )
    assert {name: seen.calls[name] for name in once} == dict.fromkeys(once, 1)
