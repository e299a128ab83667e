"""Which two data sets count as neighbors, that is, what one person's data may change."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias


class Neighbors(StrEnum):
    """The relation under which a guarantee is stated."""

    SWAP = "swap"
    """One record replaced by another; the number of records is public."""

    ADD_REMOVE = "add-remove"
    """One record more or less; the number of records is protected."""

    @property
    def records(self) -> int:
        """How many records differ between neighbors: a swap takes one away and adds one."""
        return 2 if self is Neighbors.SWAP else 1

    def sentence(self, unit: str | None = None, within: Sequence[str] = ()) -> str:
        """What the relation protects, in words: one record, or all records of one unit."""
        one = "one record" if unit is None else f"all records of one {unit}"
        count = "the number of records" if unit is None else f"the number of different {unit}"
        if self is Neighbors.ADD_REMOVE:
            return f"{one} added or removed; {count} is protected too"
        other = "any other" if unit is None else "those of any other"
        columns = " and ".join(within)
        if within:
            return (
                f"{one} replaced by {other} of the same {columns}; {count} per {columns} is public"
            )
        return f"{one} replaced by {other}; {count} is public"


NeighborsName: TypeAlias = Neighbors | Literal["swap", "add-remove"]
"""The relation as a caller may write it."""
