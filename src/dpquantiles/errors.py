"""The errors that dpquantiles raises, and the guard that keeps all other errors inside a release.

An error of a library below us may quote records or count them: in its message, in the errors that
led to it, and in the local variables of the frames that its traceback holds.
"""

from types import TracebackType

INTERRUPTED = "Query interrupted"
"""What DuckDB says of Ctrl-C."""


class PublicError(Exception):
    """An error whose words are public: parameters, types and names, never records or their number.

    Every error that this library raises is one. Any other error comes from a library below it and
    may quote data, so it never leaves a release (see `dpquantiles.failures`).
    """


class InvalidValue(PublicError, ValueError):
    """A public parameter has a value that cannot be, or that does not fit the others."""


class InvalidType(PublicError, TypeError):
    """A public parameter, or a column, has a type that does not fit."""


class MissingBackend(PublicError, ImportError):
    """An optional library is needed for what was asked; the message names the extra to install."""


class DemandTooLarge(InvalidValue):
    """The public parameters ask for more ranks than fit in memory; the message counts ranks."""


class UnreadableData(PublicError, OSError):
    """A database or a query cannot be opened; the message names it and says why."""


class ReleaseFailed(PublicError, RuntimeError):
    """A release failed after data were read; nothing was released, and no data are quoted."""


class ScanFailed(ReleaseFailed, OSError):
    """An engine failed while it read the data; nothing was released, and no data are quoted."""


class LedgerError(InvalidValue):
    """A ledger cannot be used, or was asked for what it must refuse; the message says why."""


class BudgetExceeded(LedgerError):
    """A charge does not fit what is left of a budget; nothing was charged and no data were read.

    `remaining` is the most that the same charge could be: an epsilon, or a rho.
    """

    def __init__(self, message: str, *, remaining: float) -> None:
        super().__init__(message)
        self.remaining = remaining


class unquoted:
    """Guards a block that reads data: where it fails, the error says public things only.

    The error has no cause and no context, and its traceback holds no frame below the block. The
    frame with the block itself stays, so the block should call functions that read records, and not
    keep records in variables of its own.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        failure = _public(error)
        del kind, error, trace  # this frame is part of the traceback of the failure
        try:
            raise failure
        finally:
            failure.__context__ = None  # Python has put the error of the block there


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody pressed Ctrl-C: DuckDB makes an error of it, and others may follow.

    The text of an error is never used: some errors run code to make it, which fails and quotes too.
    """
    earlier: BaseException | None = error
    seen: list[BaseException] = []
    while earlier is not None and all(earlier is not one for one in seen):
        if isinstance(earlier, KeyboardInterrupt) or _says(earlier, INTERRUPTED):
            return True
        seen.append(earlier)
        earlier = earlier.__context__
    return False


def _says(error: BaseException, words: str) -> bool:
    return len(error.args) == 1 and type(error.args[0]) is str and error.args[0] == words


def _public(error: BaseException) -> BaseException:
    if is_interrupt(error):
        return KeyboardInterrupt()
    if isinstance(error, (PublicError, SystemExit)):
        error.__cause__ = error.__context__ = None
        return error.with_traceback(None)
    return ReleaseFailed(_words(error))


def _words(error: BaseException) -> str:
    """The type of an error is that of a library, its message may be made of data."""
    if isinstance(error, MemoryError):
        return (
            "memory ran out while the release was made, so nothing was released; free some, or "
            "leave the data where they are: files, databases and lazy frames are scanned in place"
        )
    return (
        f"the release failed after data were read ({type(error).__name__}), so nothing was "
        "released; the error's own message may quote data and is left out"
    )
