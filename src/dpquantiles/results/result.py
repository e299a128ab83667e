"""What all results share: the promise, its words, and one JSON form."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from dpquantiles import privacy
from dpquantiles.errors import InvalidValue
from dpquantiles.kinds import Kind, named, zone_name
from dpquantiles.privacy import Guarantee

FORMAT = 1
"""Version of the JSON form."""


def require_format(plain: Mapping[str, Any]) -> None:
    """Refuse a dictionary that another version wrote, or another program."""
    if plain.get("format") != FORMAT:
        raise InvalidValue(f"format must be {FORMAT}, got {plain.get('format')!r}")


class Result(ABC):
    """A value that holds answers and public parameters, never data.

    `guarantee` is None when the result must not be taken for private; `note` then says why.
    """

    guarantee: Guarantee | None
    note: str

    @abstractmethod
    def summary(self) -> str:
        """The answers, or how many there are of what, in a line."""

    def __str__(self) -> str:
        return f"{self.summary()} [{self.guarantee or self.note}]"

    def _repr_html_(self) -> str:
        # A notebook asks the value itself to be drawn; drawing is loaded only then.
        from dpquantiles.present.releases import html

        drawn: Any = self  # there are no results of other kinds than those that `html` knows
        return html(drawn)

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""

    def _promise(self) -> dict[str, object]:
        """The part of the dictionary that every result has."""
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
        """What the result is made from, read from its dictionary."""
        guarantee = plain["guarantee"]
        promise = None if guarantee is None else privacy.from_dict(guarantee)
        return {"guarantee": promise, "note": plain["note"]}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result that `to_json` wrote."""
        return cls.from_dict(json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Answers(Result):
    """A result that one mechanism drew, and whose answers are all of one type."""

    values: tuple[Any, ...]
    q: tuple[float, ...]
    guarantee: Guarantee | None
    mechanism: str
    type: str
    note: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)

    def _origin(self, answers: Iterable[Any]) -> dict[str, object]:
        """The part of the dictionary that says of what type the answers are and who drew them."""
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
        return {**super()._arguments(plain), "q": tuple(plain["q"]), **stated}

    @staticmethod
    def _kind(plain: Mapping[str, Any]) -> Kind:
        return named(plain["type"], plain["zone"])
