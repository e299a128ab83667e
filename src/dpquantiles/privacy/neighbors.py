"""Which two data sets count as neighbors, that is, what one person's data may change."""

from enum import StrEnum


class Neighbors(StrEnum):
    """The relation under which a guarantee is stated."""

    SWAP = "swap"
    """One record replaced by another; the number of records is public."""

    ADD_REMOVE = "add-remove"
    """One record more or less; the number of records is protected."""

    @property
    def sentence(self) -> str:
        """What the relation protects, in words."""
        if self is Neighbors.SWAP:
            return "one record replaced by any other; the number of records is public"
        return "one record added or removed; the number of records is protected too"
