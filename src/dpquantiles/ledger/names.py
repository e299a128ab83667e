"""Names that users give: of data sets, units, requests and parts.

Names that look the same are the same: blanks around them do not count, nor whether an accent is a
character of its own. Otherwise a slip of the keyboard would open a second budget for the same data.
"""

import unicodedata

from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.require import shown

LONGEST = 200


def require_name(**parameter: object) -> str:
    """A printable, non-empty name, in the one spelling that it is entered with."""
    ((name, value),) = parameter.items()
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be a name, such as 'payroll-2026', got {shown(value)}")
    if not value.strip() or not value.isprintable() or len(value) > LONGEST:
        raise InvalidValue(
            f"{name} must be a printable name of 1 to {LONGEST} characters, got {value[:LONGEST]!r}"
        )
    return unicodedata.normalize("NFC", value.strip())


def require_part(*, part: object) -> str | None:
    """None, or a partition and a label: region=north."""
    if part is None:
        return None
    text = require_name(part=part)
    partition, equals, label = (piece.strip() for piece in text.partition("="))
    if not (partition and equals and label):
        raise InvalidValue(
            f"part must be written partition=label, such as 'region=north', got {text!r}; parts "
            "of one partition must be disjoint"
        )
    return f"{partition}={label}"
