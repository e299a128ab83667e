"""Results as frozen values with one JSON form: a release, a description, and what they share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpquantiles import privacy
from dpquantiles.errors import InvalidValue
from dpquantiles.intervals import Interval, Intervals, MeasuredRanks, Subject
from dpquantiles.kinds import Kind, named, zone_name
from dpquantiles.privacy import Guarantee

FORMAT = 1
"""Version of the JSON form."""


def require_format(plain: Mapping[str, Any]) -> None:
    """Refuse a dictionary that another version or another program wrote."""
    if plain.get("format") != FORMAT:
        raise InvalidValue(f"format must be {FORMAT}, got {plain.get('format')!r}")


class Result(ABC):
    """A value that holds answers and public parameters, never data.

    `guarantee` is None if the result is not private; then `note` says why.
    """

    guarantee: Guarantee | None
    note: str

    @abstractmethod
    def summary(self) -> str:
        """The answers, or their number, in one line."""

    def __str__(self) -> str:
        return f"{self.summary()} [{self.guarantee or self.note}]"

    def _repr_html_(self) -> str:
        # Notebooks call this method; the presentation is loaded only then.
        from dpquantiles.present.releases import html

        drawn: Any = self  # `html` accepts all kinds of results
        return html(drawn)

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


@dataclass(frozen=True, kw_only=True)
class Answers(Result):
    """A result that one mechanism drew; all of its answers have one type."""

    values: tuple[Any, ...]
    q: tuple[float, ...]
    guarantee: Guarantee | None
    mechanism: str
    type: str
    note: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)

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
        return {**super()._arguments(plain), "q": tuple(plain["q"]), **stated}

    @staticmethod
    def _kind(plain: Mapping[str, Any]) -> Kind:
        return named(plain["type"], plain["zone"])


@dataclass(frozen=True, kw_only=True)
class Release(Answers):
    """Private quantiles, in the order in which they were requested."""

    ranks: MeasuredRanks | None = None
    """The measured ranks for intervals, if intervals were requested."""

    @property
    def value(self) -> Any:
        """The answer, if one quantile was requested."""
        if len(self.values) != 1:
            raise InvalidValue(f"value is for one quantile, got {len(self.values)}; use values")
        return self.values[0]

    def interval(
        self, level: float | None = None, of: Subject | None = None
    ) -> tuple[Interval, ...]:
        """For each quantile, an interval that holds the true one with a chance of at least `level`.

        Without arguments, the intervals are as requested at release time. Any other level, and
        "data" or "population" for `of`, cost nothing more, because they use the same measured
        ranks; a higher level gives wider intervals. An end is None if the true quantile may lie
        beyond the grid. The chance holds for each interval on its own, not for all together.
        """
        if self.ranks is None:
            raise InvalidValue(
                "interval needs a release with intervals; ask for them when it is made, "
                "for example quantiles(..., intervals=True)"
            )
        default = self.ranks.requested
        intervals = Intervals(
            level=default.level if level is None else level, of=default.of if of is None else of
        )
        answers = zip(self.q, self.values, strict=True)
        return tuple(self.ranks.interval(q, value, intervals) for q, value in answers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InvalidValue("copy must not be False: an array of a release is always a copy")
        return np.array(self.values, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def summary(self) -> str:
        """The answers, with their intervals if there are any."""
        answers = [f"q={q:g}: {value}" for q, value in zip(self.q, self.values, strict=True)]
        if self.ranks is not None:
            ends = self.interval()
            answers = [f"{a} ({end})" for a, end in zip(answers, ends, strict=True)]
        return ", ".join(answers)

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        kind = named(self.type)
        return {
            "format": FORMAT,
            "q": list(self.q),
            "values": [kind.to_json(value) for value in self.values],
            **self._origin(self.values),
            **({} if self.ranks is None else {"ranks": self.ranks.to_dict(kind)}),
        }

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        kind, ranks = cls._kind(plain), plain.get("ranks")
        return {
            **super()._arguments(plain),
            "values": tuple(kind.from_json(value) for value in plain["values"]),
            "ranks": None if ranks is None else MeasuredRanks.from_dict(ranks, kind),
        }


@dataclass(frozen=True, kw_only=True)
class Description(Result):
    """One release per column, in the order in which the columns were named.

    `guarantee` covers all columns together; the guarantee of each release is its share.
    """

    releases: Mapping[str, Release] = field(hash=False)
    guarantee: Guarantee | None
    note: str = ""
    backend: str | None = field(default=None, compare=False)

    @property
    def q(self) -> tuple[float, ...]:
        """The quantiles, which all columns share."""
        return next(iter(self.releases.values())).q

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.releases)

    def __getitem__(self, column: str) -> Release:
        """The release of one column."""
        return self.releases[column]

    def summary(self) -> str:
        """The number of quantiles, and the columns."""
        return f"{len(self.q)} quantiles of {', '.join(self.releases)}"

    def columns(self) -> dict[str, list[Any]]:
        """The table: `q`, and one column of answers per column, in its own type.

        If a column is itself called `q`, the quantiles are called `q_`.
        """
        from dpquantiles.sources.tables import free_name

        answers = {name: list(release.values) for name, release in self.releases.items()}
        return {free_name("q", answers): list(self.q), **answers}

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a frame of the data's library, or of the named one."""
        from dpquantiles.sources import tables

        return tables.frame(self.columns(), backend or self.backend or tables.any_backend())

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        columns = {name: release.to_dict() for name, release in self.releases.items()}
        return {"format": FORMAT, "columns": columns, **self._promise()}

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        columns = plain["columns"].items()
        releases = {name: Release.from_dict(release) for name, release in columns}
        return {**super()._arguments(plain), "releases": releases}
