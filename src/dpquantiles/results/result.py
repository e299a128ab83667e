"""What all results share: how they are looked up, shown and drawn, and one form as JSON and frames.

Every result is looked up by what was asked for: a release by quantile, groups by key, a description
by column. `[...]`, `in`, `len` and `items()` follow that. One release iterates over its answers, so
that `low, middle, high = quartiles(...)` and NumPy work; the others iterate over their names, as a
dictionary or a frame does.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from dpquantiles import privacy
from dpquantiles.errors import InvalidValue, NotReleased
from dpquantiles.grid.family import VERSION
from dpquantiles.kinds import Kind, named, zone_name
from dpquantiles.privacy import Guarantee

FORMAT = 1
"""Version of the JSON form."""

NEWER = "; a newer version of dpquantiles wrote this, so update dpquantiles to read it"

MOST_LISTED = 9
"""How many names a message lists."""


def require_format(plain: Mapping[str, Any]) -> None:
    """Refuse a dictionary that another version or another program wrote."""
    found = plain.get("format")
    if found != FORMAT:
        newer = isinstance(found, int) and found > FORMAT
        raise InvalidValue(f"format must be {FORMAT}, got {found!r}{NEWER if newer else ''}")


def _require_family(provenance: object) -> None:
    """Refuse answers that were drawn on a family of grids of a newer version."""
    found = provenance
    for name in ("grid", "family", "version"):
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, int) and found > VERSION:
        raise InvalidValue(f"the version of the grid family must be {VERSION}, got {found}{NEWER}")


def not_released(what: str, wanted: object, released: Sequence[Any], hint: str = "") -> NotReleased:
    """The error for a name that is not in a result; it lists those that are."""
    listed = [str(name) for name in released]
    if len(listed) > MOST_LISTED:
        listed = [*listed[: MOST_LISTED - 1], "...", listed[-1]]
    return NotReleased(
        f"{what} must be one that was released, got {wanted!r}; released: {', '.join(listed)}{hint}"
    )


class Result(ABC):
    """A value that holds answers and public parameters, never data.

    `guarantee` is None if the result is not private; then `note` says why. `backend` names the
    library of the data, which is also used for frames of results.
    """

    guarantee: Guarantee | None
    note: str
    backend: str | None

    @property
    def epsilon(self) -> float | None:
        """The epsilon of the guarantee; None if there is none, or if it is stated in rho."""
        return getattr(self.guarantee, "epsilon", None)

    @abstractmethod
    def __len__(self) -> int:
        """How many names `[...]` accepts."""

    @abstractmethod
    def items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of what `[...]` accepts and what it gives."""

    def __contains__(self, name: object) -> bool:
        """Whether `[...]` accepts it."""
        try:
            self[name]  # type: ignore[index]
        except NotReleased:
            return False
        return True

    def __repr__(self) -> str:
        # Python calls this method to show a result; the presentation is loaded only then.
        from dpquantiles.present.releases import short

        shown: Any = self  # `short` accepts all kinds of results, and so do the others
        return short(shown)

    def _repr_html_(self) -> str:
        from dpquantiles.present.releases import html

        shown: Any = self
        return html(shown)

    def to_svg(self) -> str:
        """The result as a picture, an SVG file of its own."""
        from dpquantiles.present.pictures import svg

        shown: Any = self
        return svg(shown)

    def plot(self, ax: Any = None) -> Any:
        """The same picture in Matplotlib, in these axes or in new ones, which are returned."""
        from dpquantiles.present import axes, pictures

        shown: Any = self
        return axes.draw(pictures.picture(shown), ax)

    @abstractmethod
    def columns(self) -> dict[str, list[Any]]:
        """The table of the answers, by the names of its columns."""

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a frame of the data's library, or of the named one."""
        return self._frame(self.columns(), backend)

    def _frame(self, columns: dict[str, list[Any]], backend: str | None) -> Any:
        from dpquantiles.sources import tables

        return tables.frame(columns, backend or self.backend or tables.any_backend())

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""

    def _promise(self) -> dict[str, object]:
        """The fields that the dictionary of every result has."""
        guarantee = None if self.guarantee is None else self.guarantee.to_dict()
        return {"guarantee": guarantee, "note": self.note}

    def to_json(self) -> str:
        """The result as JSON text, the inverse of `from_json`."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The result that `to_dict` wrote."""
        require_format(plain)
        return cls(**cls._arguments(plain))

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the constructor, read from a dictionary."""
        guarantee = plain["guarantee"]
        promise = None if guarantee is None else privacy.from_dict(guarantee)
        return {"guarantee": promise, "note": plain["note"]}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result that `to_json` wrote."""
        return cls.from_dict(json.loads(text))


@dataclass(frozen=True, kw_only=True, repr=False)
class Answers(Result):
    """A result that one mechanism drew; all of its answers have one type."""

    values: tuple[Any, ...]
    q: tuple[float, ...]
    guarantee: Guarantee | None
    mechanism: str
    type: str
    note: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)
    backend: str | None = field(default=None, compare=False)

    @property
    def column(self) -> str | None:
        """The name of the column, which is public; None if the data had no name."""
        name = self.provenance.get("column")
        return name if isinstance(name, str) else None

    def _origin(self, answers: Iterable[Any]) -> dict[str, object]:
        """The fields of the dictionary that state the type of the answers and their mechanism."""
        return {
            "type": self.type,
            "zone": zone_name(next(iter(answers), None)),
            "mechanism": self.mechanism,
            **self._promise(),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        names = ("mechanism", "type", "provenance")
        stated = {name: plain[name] for name in names}
        _require_family(plain["provenance"])
        return {**super()._arguments(plain), "q": tuple(plain["q"]), **stated}

    @staticmethod
    def _kind(plain: Mapping[str, Any]) -> Kind:
        return named(plain["type"], plain["zone"])
