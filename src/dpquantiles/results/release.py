"""A release: the answers, what they promise and how they were made, as one frozen value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.intervals import Interval, Intervals, MeasuredRanks, Subject
from dpquantiles.kinds import named
from dpquantiles.results.result import FORMAT, Answers


@dataclass(frozen=True, kw_only=True)
class Release(Answers):
    """Private quantiles, in the order in which they were requested."""

    ranks: MeasuredRanks | None = None
    """What intervals rest on, when they were requested."""

    @property
    def value(self) -> Any:
        """The answer, when one quantile was requested."""
        if len(self.values) != 1:
            raise InvalidValue(f"value is for one quantile, got {len(self.values)}; use values")
        return self.values[0]

    def interval(
        self, level: float | None = None, of: Subject | None = None
    ) -> tuple[Interval, ...]:
        """For each quantile an interval that holds the true one with a chance of at least `level`.

        Without arguments, as requested at release time. Any other level, and "data" or
        "population" for `of`, cost nothing more: they are answered from the same measured ranks,
        less tightly the more they ask for. An end is None where values beyond the grid count as
        its end: the true quantile may lie beyond. Each interval holds its own quantile
        with that chance, not all of them together.
        """
        if self.ranks is None:
            raise InvalidValue(
                "interval needs a release with intervals; ask for them when it is made, "
                "for example quantiles(..., intervals=True)"
            )
        default = self.ranks.requested
        wanted = Intervals(
            level=default.level if level is None else level, of=default.of if of is None else of
        )
        answers = zip(self.q, self.values, strict=True)
        return tuple(self.ranks.interval(q, value, wanted) for q, value in answers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InvalidValue("copy must not be False: an array of a release is always a copy")
        return np.array(self.values, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def summary(self) -> str:
        """The answers, with their intervals where there are any."""
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
