"""The exceptions that callers may want to catch; everything else is a ValueError or TypeError."""


class MissingBackend(ImportError):
    """An optional library is needed for what was asked; the message names the extra to install."""


class DemandTooLarge(ValueError):
    """The public parameters ask for more ranks than fit in memory; the message counts ranks."""


class ScanFailed(OSError):
    """An engine failed while it read the data; nothing was released, and no data are quoted."""
