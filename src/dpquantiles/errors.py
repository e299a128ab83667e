"""The errors that dpquantiles raises, and the guard that keeps all other errors inside a release.

An error of a library below us may quote records or count them: in its message, in the errors that
led to it, and in the local variables of the frames that its traceback holds.
"""

from types import TracebackType

INTERRUPTED = "Query interrupted"
"""The message of DuckDB's error after Ctrl-C."""


class PublicError(Exception):
    """An error whose words are public: parameters, types and names, never records or their number.

    Every error that this library raises is one. Any other error comes from a library below it and
    may quote data, so it never leaves a release (see `unquoted`).
    """


class InvalidValue(PublicError, ValueError):
    """A public parameter has an impossible value, or one that does not fit the others."""


class InvalidType(PublicError, TypeError):
    """A public parameter, or a column, has a type that does not fit."""


class NotReleased(PublicError, KeyError):
    """A result was looked up by something that is not in it; the message lists what is."""

    __str__ = Exception.__str__  # that of KeyError would put the message in quotes


class MissingBackend(PublicError, ImportError):
    """The request needs an optional library; the message names the extra to install."""


class DemandTooLarge(InvalidValue):
    """The public parameters ask for more ranks than fit in memory; the message counts ranks."""


class UnreadableData(PublicError, OSError):
    """A database or a query cannot be opened; the message names it and says why."""


class ReleaseFailed(PublicError, RuntimeError):
    """A release failed after data was read; nothing was released, and no data is quoted."""


class ScanFailed(ReleaseFailed, OSError):
    """An engine failed while it read the data; nothing was released, and no data is quoted."""


class LedgerError(InvalidValue):
    """A ledger cannot be used, or must refuse a request; the message says why."""


class BudgetExceeded(LedgerError):
    """A charge is more than the rest of a budget; nothing was charged and no data was read.

    `remaining` is the largest epsilon, or rho, at which the same charge would fit.
    """

    def __init__(self, message: str, *, remaining: float) -> None:
        super().__init__(message)
        self.remaining = remaining


class unquoted:
    """Guards a block that reads data: if the block fails, the error says only public things.

    The error has no cause and no context, and its traceback holds no frame below the block. The
    frame of the block itself stays. So the block should call functions that read records, and keep
    no records in its own variables.
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
        del kind, error, trace  # this frame becomes part of the failure's traceback
        try:
            raise failure
        finally:
            failure.__context__ = None  # Python has stored the block's own error there


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody pressed Ctrl-C: DuckDB raises its own error then, and others may follow it.

    Only the arguments of an error are looked at, not its text: some errors run code to make their
    text, and that code may fail and quote data.
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
    """A public sentence about an error: names its type, which is no data, but not its message."""
    if isinstance(error, MemoryError):
        return (
            "memory ran out during the release, so nothing was released; free some memory, or "
            "leave the data where it is: files, databases and lazy frames are scanned in place"
        )
    return (
        f"the release failed after data was read ({type(error).__name__}), so nothing was "
        "released; the error's own message may quote data and is left out"
    )
