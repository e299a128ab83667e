"""A release: private quantiles of one column, with their intervals if these were requested."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles.errors import InvalidValue
from dpquantiles.intervals import Interval, Intervals, MeasuredRanks, Subject
from dpquantiles.kinds import named
from dpquantiles.results.result import FORMAT, Answers, not_released

SAME = 1e-12
"""Two quantiles that differ by less, as 0.3 and 0.1 + 0.2 do, are the same one."""


@dataclass(frozen=True, kw_only=True, repr=False)
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
        """For each true quantile, an interval that contains it with a chance of at least `level`.

        Without arguments, the intervals are as requested at release time. Any other level, and
        "data" or "population" for `of`, cost nothing extra, because they use the same measured
        ranks; a higher level gives wider intervals. An end is None if the true quantile may lie
        beyond the grid. The chance holds for each interval on its own, not for all together.
        """
        if self.ranks is None:
            raise InvalidValue(
                "interval needs a release with intervals; ask for them when you make it, "
                "for example quantiles(..., intervals=True)"
            )
        default = self.ranks.requested
        intervals = Intervals(
            level=default.level if level is None else level, of=default.of if of is None else of
        )
        rows = self.provenance.get("max_rows_per_unit")
        intervals.check_rows(rows if isinstance(rows, int) else 1)
        answers = zip(self.q, self.values, strict=True)
        return tuple(self.ranks.interval(q, value, intervals) for q, value in answers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InvalidValue("copy must not be False: an array of a release is always a copy")
        return np.array(self.values, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        """The answers, in the order in which they were requested."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, q: float) -> Any:
        """The answer to a quantile that was requested."""
        if isinstance(q, (int, float)) and not isinstance(q, bool):
            for asked, value in self.items():
                if math.isclose(q, asked, rel_tol=0.0, abs_tol=SAME):
                    return value
        shown = [f"{asked:.10g}" for asked in self.q]
        raise not_released("q", q, shown, "; values has the answers in this order")

    def items(self) -> Iterator[tuple[float, Any]]:
        """Pairs of a quantile and its answer."""
        return zip(self.q, self.values, strict=True)

    def columns(self) -> dict[str, list[Any]]:
        """The table: `q`, `value`, and `lower` and `upper` if there are intervals."""
        return {"q": list(self.q), "value": list(self.values), **self._ends()}

    def _ends(self) -> dict[str, list[Any]]:
        """The ends of the intervals as requested, None for an open one."""
        if self.ranks is None:
            return {}
        intervals = self.interval()
        return {
            "lower": [interval.lower for interval in intervals],
            "upper": [interval.upper for interval in intervals],
        }

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        kind = named(self.type)
        ends = {
            side: [None if end is None else kind.to_json(end) for end in ends]
            for side, ends in self._ends().items()
        }
        return {
            "format": FORMAT,
            "q": list(self.q),
            "values": [kind.to_json(value) for value in self.values],
            **ends,
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
