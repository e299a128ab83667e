"""Whom a guarantee protects: which data sets are neighbors, and units such as people.

`units.md` has the proof that all rows of a unit keep a budget when each row spends its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from dpquantiles.privacy.guarantees import Guarantee


class Neighbors(StrEnum):
    """The relation under which a guarantee is stated."""

    SWAP = "swap"
    """One record replaced by another; the number of records is public."""

    ADD_REMOVE = "add-remove"
    """One record more or less; the number of records is protected."""

    @property
    def records(self) -> int:
        """How many records differ between neighbors: a swap removes one and adds one."""
        return 2 if self is Neighbors.SWAP else 1

    def sentence(self, unit: str | None = None, within: Sequence[str] = ()) -> str:
        """The relation in words: what may change, and whether the number of records is public."""
        one = "one record" if unit is None else f"all records of one {unit}"
        count = (
            "the number of records" if unit is None else f"the number of distinct values of {unit}"
        )
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


@dataclass(frozen=True, kw_only=True)
class Units:
    """Whom a release protects: one record, or all rows of a unit; at most `rows` rows count."""

    column: str | None = None
    rows: int = 1

    @classmethod
    def of(cls, unit: str | None, max_rows_per_unit: int | None) -> "Units":
        """Units as users state them; by default one row per unit."""
        if unit is None and max_rows_per_unit is not None:
            raise InvalidValue(
                "max_rows_per_unit needs unit, the column that names whom the rows belong to, "
                f"got max_rows_per_unit={max_rows_per_unit!r} without it"
            )
        if unit is not None and not isinstance(unit, str):
            raise InvalidType(f"unit must be the name of a column, got {require.shown(unit)}")
        rows = 1 if max_rows_per_unit is None else max_rows_per_unit
        return cls(column=unit, rows=require.count(minimum=1, max_rows_per_unit=rows))

    @property
    def provenance(self) -> dict[str, object]:
        """The unit and its number of rows, for the provenance of a release."""
        if self.column is None:
            return {}
        return {"unit": self.column, "max_rows_per_unit": self.rows}

    def price(self, budget: "Guarantee", *, grouped: bool) -> "Guarantee":
        """The budget of one row; refuses requests that would show a unit's rows or its group."""
        if self.column is not None and budget.neighbors is Neighbors.SWAP:
            if self.rows > 1:
                raise InvalidValue(
                    f"max_rows_per_unit={self.rows} needs neighbors='add-remove': units have "
                    "different numbers of rows, so under swap neighbors the public number of rows "
                    "would reveal something about them"
                )
            if grouped:
                raise InvalidValue(
                    f"unit={self.column!r} with by needs neighbors='add-remove': a unit may be in "
                    "any group, so under swap neighbors the public sizes of groups would reveal it"
                )
        return budget.per_row(self.rows)
