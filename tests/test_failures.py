"""An error after data was read says public things only, wherever it comes from."""

import ast
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpquantiles as dpq
from dpquantiles import cli, errors
from dpquantiles.errors import unquoted
from dpquantiles.sources import memory
from dpquantiles.sources.engine import Engine

SOURCE = Path(dpq.__file__).parent
SECRET = "49999999"
ROWS = {
    "v": np.arange(60.0),
    "w": np.arange(60),
    "g": ["a", "b", "c"] * 20,
    "u": [f"p{k % 12}" for k in range(60)],
}
FRAME, LAZY = pd.DataFrame(ROWS), pl.DataFrame(ROWS).lazy()
ADD: dict[str, Any] = {"epsilon": 1.0, "neighbors": "add-remove"}
BY: dict[str, Any] = {"column": "v", "by": "g", "keys": ["a", "b"]}

WAYS: dict[str, Callable[..., Any]] = {
    "list": lambda **more: dpq.deciles(list(range(60)), **more),
    "array": lambda **more: dpq.deciles(np.arange(60.0), **more),
    "column": lambda **more: dpq.deciles(FRAME, column="v", **more),
    "lazy": lambda **more: dpq.deciles(LAZY, column="v", **more),
    "intervals": lambda **more: dpq.deciles(FRAME, column="v", intervals=True, **more),
    "tree": lambda **more: dpq.deciles(FRAME, column="v", mechanism="agg_tree", **more),
    "groups": lambda **more: dpq.deciles(FRAME, **BY, **more),
    "lazy groups": lambda **more: dpq.deciles(LAZY, **BY, **more),
    "units": lambda **more: dpq.deciles(FRAME, column="v", unit="u", **more),
    "description": lambda **more: dpq.describe(FRAME, ["v", "w"], **more),
    "lazy description": lambda **more: dpq.describe(LAZY, ["v", "w"], **more),
}


class Untellable(Exception):
    """As errors of PySpark are that ask a Java process for their text when it has ended."""

    def __str__(self) -> str:
        raise ConnectionError(f"while row {SECRET} was told")


class Looped(Exception):
    """An error that led to itself."""

    def __init__(self) -> None:
        super().__init__(SECRET)
        self.__context__ = ValueError(SECRET)
        self.__context__.__context__ = self


ACCIDENTS = [
    MemoryError(f"Unable to allocate 381. MiB for an array with shape ({SECRET},)"),
    ValueError(f"cannot reshape array of size {SECRET} into shape (3,)"),
    IndexError(f"index {SECRET} is out of bounds"),
    TypeError(f"float() argument must be a string or a real number, not {SECRET}"),
    FileNotFoundError(2, "No such file or directory", f"person={SECRET}.parquet"),
    BaseException(f"called `Option::unwrap()` on a `None` value: {SECRET}"),
]


@pytest.fixture
def accident(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes every source of random bits fail, as a library would: data was read by then."""

    def arrange(error: BaseException) -> None:
        def fail(*_: Any) -> Any:
            secret = SECRET  # a local variable of a frame that a traceback would hold
            raise error from RuntimeError(f"row {secret} is to blame")

        break_random_bits(monkeypatch, fail)

    return arrange


def break_random_bits(monkeypatch: pytest.MonkeyPatch, fail: Callable[..., Any]) -> None:
    """Private releases ask the system for numbers, and for many words at once."""
    monkeypatch.setattr("random.SystemRandom.getrandbits", fail)
    monkeypatch.setattr("dpquantiles.kernels.draws.os", SimpleNamespace(urandom=fail))


def told(error: BaseException) -> str:
    """All that a reader, a log or a crash report can get from an error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame.f_locals for frame in frames if frame.f_code.co_filename.startswith(str(SOURCE))]
    chain = (error.__cause__, error.__context__)
    return repr((error, error.args, getattr(error, "__notes__", ""), chain, ours))


def within_the_library(error: BaseException) -> list[str]:
    """The functions of ours below the guard that a traceback still holds."""
    names = [frame.f_code.co_qualname for frame, _ in traceback.walk_tb(error.__traceback__)]
    return names[names.index("unquoted.__exit__") + 1 :]


@pytest.mark.parametrize(
    "raised", [*ACCIDENTS, errors.InvalidValue("public"), KeyboardInterrupt(), SystemExit(3)]
)
def test_a_guard_lets_nothing_out_but_the_sentence(raised: BaseException) -> None:
    """No error that led to it, and no variable of a function that the block called."""

    def read(records: list[str]) -> None:
        try:
            raise RuntimeError(records[0])
        except RuntimeError:
            raise raised  # noqa: B904

    def release() -> None:
        with unquoted():
            read([SECRET])

    with pytest.raises((errors.PublicError, KeyboardInterrupt, SystemExit)) as caught:
        release()
    frames = list(traceback.walk_tb(caught.value.__traceback__))
    assert [frame.f_code.co_qualname for frame, _ in frames][-1] == "unquoted.__exit__"
    assert SECRET not in repr([frame.f_locals for frame, _ in frames[1:]])
    assert SECRET not in told(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert (caught.value is raised) == isinstance(raised, (errors.PublicError, SystemExit))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ACCIDENTS, ids=lambda error: type(error).__name__)
def test_an_error_of_a_library_is_not_quoted(
    way: str, error: BaseException, accident: Callable[[BaseException], None]
) -> None:
    accident(error)
    with pytest.raises(errors.ReleaseFailed, match="nothing was released") as caught:
        WAYS[way](**ADD)
    assert SECRET not in told(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert within_the_library(caught.value) == []


@pytest.mark.parametrize("way", WAYS)
def test_what_was_charged_is_said_with_the_request_to_go_on_with(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=3.0, neighbors="add-remove")
    entered: dict[str, Any] = {"ledger": ledger, "dataset": "pay", "request_id": "again"}
    with monkeypatch.context() as broken:
        break_random_bits(broken, _fail)
        with pytest.raises(errors.ReleaseFailed) as caught:
            WAYS[way](**ADD, **entered)
    (note,) = caught.value.__notes__
    assert "data set 'pay' was charged" in note
    assert "'again'" in note
    assert SECRET not in told(caught.value)
    WAYS[way](**ADD, **entered)
    assert [standing.remaining for standing in ledger.accounts().values()] == [2.0]


def _fail(*_: Any) -> Any:
    raise ACCIDENTS[0]


@pytest.mark.parametrize("accident", [Untellable, Looped])
def test_errors_that_cannot_be_told_are_not_quoted(accident: type[Exception]) -> None:
    def records() -> Iterator[float]:
        yield 1.0
        raise accident

    def fail(_: object) -> float:
        raise accident

    lazy = LAZY.with_columns(pl.col("v").map_elements(fail, return_dtype=pl.Float64))
    ways: list[Callable[[], Any]] = [
        lambda: dpq.median(records(), epsilon=1.0),
        lambda: dpq.median(lazy, column="v", epsilon=1.0),
    ]
    for release in ways:
        with pytest.raises(errors.ReleaseFailed, match="nothing was released") as caught:
            release()
        assert SECRET not in told(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("way", ["list", "array", "column", "groups", "units", "description"])
@pytest.mark.parametrize("error", ACCIDENTS, ids=lambda error: type(error).__name__)
def test_an_error_while_a_column_in_memory_is_opened_is_not_quoted(
    way: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one that says TypeError, as our own refusals of columns do."""

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(memory, "_read", fail)
    with pytest.raises(errors.ReleaseFailed) as caught:
        WAYS[way](**ADD)
    assert SECRET not in told(caught.value)


def test_an_engine_that_fails_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise duckdb.ConversionException(f"Could not convert string '{SECRET}' to INT32")

    monkeypatch.setattr(Engine, "grouped", fail)
    with pytest.raises(dpq.ScanFailed, match="Polars failed") as caught:
        dpq.deciles(LAZY, column="v", epsilon=1.0)
    assert SECRET not in told(caught.value)
    assert caught.value.__context__ is None


def test_the_command_line_quotes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pay.csv"
    FRAME.to_csv(path, index=False)
    break_random_bits(monkeypatch, _fail)
    for more in ((), ("--by", "g", "--keys", "a,b"), ("--unit", "u")):
        asked = ["release", str(path), "-c", "v", "-q", "deciles", "-e", "1", *more]
        assert cli.main(asked) == 2
        shown = capsys.readouterr()
        assert SECRET not in shown.out + shown.err
        assert "memory ran out" in shown.err


def test_public_parameters_still_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="bounds must"):
        dpq.median([1.0, 2.0], epsilon=1.0, bounds=(3, 1))
    with pytest.raises(TypeError, match="data must be numbers"):
        dpq.median(["text"], epsilon=1.0)
    with pytest.raises(dpq.DemandTooLarge, match="windows of"):
        dpq.deciles(np.arange(10.0), epsilon=1e-9, neighbors="add-remove", mechanism="joint_exp")


def test_a_keyboard_interrupt_within_duckdb_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB makes an error of it, on which others may follow."""

    def interrupted(*_: Any) -> Any:
        try:
            raise RuntimeError("Query interrupted")
        except RuntimeError:
            raise duckdb.TransactionException("the transaction was aborted")  # noqa: B904

    ledger = dpq.Ledger(tmp_path / "budget.db", epsilon=3.0)
    relation = duckdb.connect().sql("SELECT range AS v FROM range(60)")
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "pay", "request_id": "again"}
    with monkeypatch.context() as broken:
        broken.setattr(Engine, "grouped", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            dpq.median(relation, column="v", epsilon=1.0, **charged)
    assert "'again' runs again without another charge" in caught.value.__notes__[0]
    ledger.verify()
    dpq.median(relation, column="v", epsilon=1.0, **charged)
    assert ledger.spent("pay") == 1.0


CLASSES = {name: cls for name, cls in vars(errors).items() if isinstance(cls, type)}
OWN = {name for name, cls in CLASSES.items() if issubclass(cls, BaseException)}
INTERNAL = {"LookupError", "KeyError", "Broken", "FileNotFoundError", "IsADirectoryError"}
INTERNAL |= {"FileExistsError", "KeyboardInterrupt", "AttributeError"}
"""Errors that never leave the library, are of the protocols of Python, or name files alone."""


CAUGHT = {
    "sources/cells.py": {"ValueError"},
    "sources/ibis.py": {"NotImplementedError"},
    "auditing/releases.py": {"RuntimeError"},
    "studio/app.py": {"NOWHERE"},
    "studio/guard.py": {"HTTPException"},
}
"""Caught where they are raised, or never run: cells that cannot be parsed, the stand-in for a
function of DuckDB, records that an audit makes to raise, and pages that say in fixed words that
there is no such page or that a request is too large."""


def raised(module: Path) -> Iterator[str]:
    """The names of classes whose instances a module raises, or returns to be raised."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        value = getattr(node, "exc", None) or (node.value if isinstance(node, ast.Return) else None)
        call = value.func if isinstance(value, ast.Call) else value
        if isinstance(call, ast.Name) and (isinstance(node, ast.Raise) or "Error" in call.id):
            yield call.id


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_every_error_that_we_raise_is_public(module: Path) -> None:
    """So that the guard can tell them from those of libraries, which quote what they like."""
    classes = {name for name in raised(module) if name[0].isupper()}
    assert classes <= OWN | INTERNAL | CAUGHT.get(module.relative_to(SOURCE).as_posix(), set())


def test_every_error_class_of_ours_is_public() -> None:
    assert all(issubclass(getattr(errors, name), errors.PublicError) for name in OWN)
    assert len(OWN) >= 9
