"""The exceptions that callers may want to catch; everything else is a ValueError or TypeError."""


class MissingBackend(ImportError):
    """An optional library is needed for what was asked; the message names the extra to install."""


class DemandTooLarge(ValueError):
    """The public parameters ask for more ranks than fit in memory; the message counts ranks."""


class ScanFailed(OSError):
    """An engine failed while it read the data; nothing was released, and no data are quoted."""


class LedgerError(ValueError):
    """A ledger cannot be used, or was asked for what it must refuse; the message says why."""


class BudgetExceeded(LedgerError):
    """A charge does not fit what is left of a budget; nothing was charged and no data were read.

    `remaining` is the most that the same charge could be: an epsilon, or a rho.
    """

    def __init__(self, message: str, *, remaining: float) -> None:
        super().__init__(message)
        self.remaining = remaining
