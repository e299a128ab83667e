"""Units such as people: what one row may spend, so that all rows of a unit keep a budget.

Proof: `units.md` beside this file.
"""

from dataclasses import dataclass

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.privacy.guarantees import Guarantee
from dpquantiles.privacy.neighbors import Neighbors


@dataclass(frozen=True, kw_only=True)
class Units:
    """Whom a release protects: one record, or all rows of a unit, of which at most `rows` count."""

    column: str | None = None
    rows: int = 1

    @classmethod
    def of(cls, unit: str | None, max_rows_per_unit: int | None) -> "Units":
        """Units as users state them; one row per unit unless said otherwise."""
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
        """The public numbers of a release to units."""
        if self.column is None:
            return {}
        return {"unit": self.column, "max_rows_per_unit": self.rows}

    def price(self, budget: Guarantee, *, grouped: bool) -> Guarantee:
        """The budget of one row; refuses what would show how many rows a unit has, and where."""
        if self.column is not None and budget.neighbors is Neighbors.SWAP:
            if self.rows > 1:
                raise InvalidValue(
                    f"max_rows_per_unit={self.rows} needs neighbors='add-remove': units have "
                    "different numbers of rows, so under swap neighbors the public number of rows "
                    "would tell about them"
                )
            if grouped:
                raise InvalidValue(
                    f"unit={self.column!r} with by needs neighbors='add-remove': a unit may be in "
                    "any group, so under swap neighbors the public sizes of groups would tell"
                )
        return budget.per_row(self.rows)
