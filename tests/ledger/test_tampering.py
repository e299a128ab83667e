"""Whatever is changed in a ledger's file, `verify` finds it, and changes nothing itself."""

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dpquantiles import LedgerError, PureDP
from dpquantiles.ledger import Ledger, entries, file, inspection
from dpquantiles.ledger.ledger import SOFTWARE
from tests.ledger.crowd import release, released

ONE = PureDP(epsilon=1.0)


@pytest.fixture
def filled(ledger: Ledger, path: Path) -> Path:
    """A ledger with entries of all kinds but a retry."""
    ledger.charge(ONE, dataset="payroll", request_id="first")
    released(ledger, ONE, lambda: release(7), dataset="payroll", request_id="second")
    assert ledger.verify() == ledger.head
    return path


def found(path: Path) -> bool:
    """Whether `verify` refuses the file, and leaves it alone."""
    before = path.read_bytes()
    try:
        inspection.verify(path)
    except LedgerError:
        assert path.read_bytes() == before
        return True
    return False


def missed(path: Path, places: Iterable[int], bits: Callable[[int], Iterable[int]]) -> list[int]:
    """The places at which a flipped bit is not found."""
    whole = path.read_bytes()
    left = []
    for place in places:
        for bit in bits(place):
            overwrite(path, place, bytes([whole[place] ^ 1 << bit]))
            if not found(path):
                left.append(place)
        overwrite(path, place, whole[place : place + 1])
    assert path.read_bytes() == whole
    return left


def overwrite(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as raw:
        raw.seek(place)
        raw.write(data)


def test_a_flipped_bit_is_found(filled: Path) -> None:
    """The header, the schema, a sample of the unused space, and a sample of the entries."""
    rng = random.Random(3)
    size = filled.stat().st_size
    places = {
        *range(120),
        *rng.sample(range(size), 400),
        *rng.sample(range(size - 4000, size), 400),
    }
    assert missed(filled, sorted(places), lambda _: [rng.randrange(8)]) == []
    assert Ledger(filled).verify()


def test_a_schema_that_is_no_longer_text_is_found(filled: Path) -> None:
    """SQLite quotes it in its error."""
    whole = filled.read_bytes()
    place = whole.index(b"CREATE TRIGGER")
    assert missed(filled, range(place, place + 40), lambda _: [7]) == []


@pytest.mark.slow
def test_any_flipped_byte_is_found(filled: Path) -> None:
    rng = random.Random(4)
    assert missed(filled, range(filled.stat().st_size), lambda _: [rng.randrange(8)]) == []
    assert missed(filled, range(100), lambda _: range(8)) == []


def crashed(ledger: Ledger, path: Path, copy: Path, size: int = 0) -> Path:
    """A ledger whose last process was killed between a commit and the copying of its log."""
    parameters = {"filler": "x" * size}
    with sqlite3.connect(path, isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entries").fetchall()
        patience, file.PATIENCE = file.PATIENCE, 0.0
        try:
            with pytest.raises(LedgerError, match="busy"):
                released(
                    ledger,
                    ONE,
                    lambda: pytest.fail("drawn"),
                    dataset="payroll",
                    parameters=parameters,
                )
        finally:
            file.PATIENCE = patience
        for name in ("", "-wal"):
            shutil.copy(f"{path}{name}", f"{copy}{name}")
    reader.close()
    return copy


def test_a_charge_that_is_only_in_the_log_counts(
    ledger: Ledger, filled: Path, tmp_path: Path
) -> None:
    copy = crashed(ledger, filled, tmp_path / "copy.db")
    assert inspection.log_is_whole(copy)
    assert Ledger(copy).spent("payroll") == 3.0
    assert Ledger(copy).verify() == Ledger(filled).verify()


def test_a_half_copied_log_is_no_damage(ledger: Ledger, filled: Path, tmp_path: Path) -> None:
    """Pages are copied in order, so the header may count pages that are not there yet."""
    copy = crashed(ledger, filled, tmp_path / "copy.db", size=2 * file.PAGE_SIZE)
    frames = inspection._frames(file.log_of(copy).read_bytes(), file.PAGE_SIZE)
    first = next(page for header, page in frames if header[:4] == bytes([0, 0, 0, 1]))
    assert int.from_bytes(first[28:32], "big") * file.PAGE_SIZE > copy.stat().st_size
    overwrite(copy, 0, first)
    assert Ledger(copy).spent("payroll") == 3.0
    assert Ledger(copy).verify() == Ledger(filled).verify()


def test_a_flipped_bit_of_the_log_is_found(ledger: Ledger, filled: Path, tmp_path: Path) -> None:
    copy = crashed(ledger, filled, tmp_path / "copy.db")
    log = file.log_of(copy)
    whole = log.read_bytes()
    rng = random.Random(5)
    frames = range(32, len(whole), 24 + file.PAGE_SIZE)
    headers = {start + k for start in frames for k in range(24)}
    for place in {*range(32), *headers, *rng.sample(range(len(whole)), 30)}:
        log.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :]
        )
        assert not inspection.log_is_whole(copy), place
    for cut in (1, 31, 40, len(whole) - 1, len(whole) - file.PAGE_SIZE - 24):
        log.write_bytes(whole[:cut])
        assert not inspection.log_is_whole(copy), cut
    with pytest.raises(LedgerError, match="log ends in an unfinished write"):
        inspection.verify(copy)
    assert log.read_bytes() == whole[:cut]


def rewrite(path: Path, *statements: str) -> None:
    """An edit with the sqlite3 shell, around the triggers."""
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["UPDATE entries SET body = replace(body, '1.0', '0.1')"], "entry 1 was edited|entry 2"),
        (["DELETE FROM entries WHERE number = 2"], "entry 2 is missing"),
        (["DELETE FROM entries WHERE number = 4"], "3 entries were found where 4 were written"),
        (["DELETE FROM entries WHERE number = 4", "PRAGMA user_version = 3"], "around them"),
        (["UPDATE entries SET number = number + 1 WHERE number = 4"], "entry 4 is missing"),
        (["INSERT INTO entries VALUES (5, '{}', 'x')"], "entry 5 was edited"),
        (["DELETE FROM entries"], "0 entries were found where 4 were written"),
        (["CREATE TABLE notes (text)"], "around them"),
    ],
)
def test_edits_with_sql_are_found(filled: Path, statements: list[str], message: str) -> None:
    triggers = ["DROP TRIGGER no_update", "DROP TRIGGER no_delete"]
    if statements[0].startswith(("UPDATE", "DELETE")):
        with pytest.raises(sqlite3.IntegrityError, match="a ledger only grows"):
            rewrite(filled, *statements)
        statements = [*triggers, *statements]
    rewrite(filled, *statements)
    with pytest.raises(LedgerError, match=rf"corrupt or was edited: .*({message})"):
        Ledger(filled).verify()


def test_appended_and_missing_bytes_are_found(filled: Path) -> None:
    whole = filled.read_bytes()
    for damaged in (whole + b"\0", whole + whole, whole[:-1], whole[: len(whole) // 2], whole[:50]):
        filled.write_bytes(damaged)
        assert found(filled)


def test_a_rewritten_history_is_found_by_a_head_that_was_kept(filled: Path) -> None:
    """Whoever can write a file can write a whole one; only a hash kept elsewhere tells."""
    ledger = Ledger(filled)
    kept = ledger.head
    ledger.charge(ONE, dataset="payroll")
    assert Ledger(filled).verify(kept) == ledger.head
    forged, previous = [], entries.START
    for entry in ledger.entries()[:2]:
        content = json.loads(entry.body) | ({"dataset": "other"} if entry.number == 2 else {})
        forged.append(entries.next_entry(entry.number, previous, content))
        previous = forged[-1].hash
    os.remove(filled)
    file.create(filled, forged[0])
    with file.writing(filled) as table:
        table.append(forged[1:])
    assert Ledger(filled).verify() == previous
    with pytest.raises(LedgerError, match=r"no entry has the hash .*history was rewritten"):
        Ledger(filled).verify(kept)
    with pytest.raises(LedgerError, match="replaced while it was in use"):
        ledger.charge(ONE, dataset="payroll")


def test_an_edit_with_a_new_hash_breaks_the_chain(filled: Path) -> None:
    second = Ledger(filled).entries()[1]
    body = second.body.replace(b'"payroll"', b'"another"')
    connection = sqlite3.connect(filled)
    connection.execute("DROP TRIGGER no_update")
    edit = "UPDATE entries SET body = ?, hash = ? WHERE number = 2"
    connection.execute(edit, (body.decode(), entries.digest(body)))
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="entry 3 does not follow the one before it"):
        Ledger(filled)


def test_entries_with_a_wrong_meaning_are_found(path: Path) -> None:
    """A chain that is whole, but does not say what a ledger says."""
    for content in (
        {"action": "refund", "request": "first"},
        {"action": "release", "request": "never charged"},
        {"action": "budget", "budget": ONE.to_dict()},
        {"action": "charge", "request": "x"},
    ):
        ledger = Ledger(path, epsilon=3.0)
        with file.writing(path) as table:
            table.append([entries.next_entry(2, ledger.head, content)])
        with pytest.raises(LedgerError, match="entry 2 lacks something that it must state"):
            Ledger(path)
        path.unlink()


def test_the_last_writer_counts_where_versions_of_sqlite_differ(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        older = {**SOFTWARE, "sqlite": "3.7.11"}
        patch.setattr("dpquantiles.ledger.ledger.SOFTWARE", older)
        Ledger(path, epsilon=3.0).charge(ONE, dataset="payroll")
    Ledger(path, epsilon=3.0).charge(ONE, dataset="payroll")
    assert not found(path)
