"""The errors that dpquantiles raises: what they say is public, and they are all told apart."""


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
