"""A release by group: the answers for every key, one guarantee for all of them, and frames."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dpquantiles.intervals import MeasuredRanks
from dpquantiles.kinds import named
from dpquantiles.results.release import Release
from dpquantiles.results.result import FORMAT, Answers, not_released

Key = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupedRelease(Answers):
    """Private quantiles of every group, in the order of the keys and of the quantiles.

    One guarantee covers all groups together. A key in the data that Python cannot show becomes
    "<not shown: 1>", the next one "<not shown: 2>".
    """

    by: tuple[str, ...]
    keys: tuple[Key, ...]
    key_types: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """Entry i holds the answers for key i, in the order of `q`."""
    ranks: tuple[MeasuredRanks, ...] | None = None
    """What the intervals of every group rest on, if they were requested."""

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Any]:
        """The keys, as `release[key]` accepts them."""
        return iter(key[0] if len(self.by) == 1 else key for key in self.keys)

    def __getitem__(self, key: Any) -> Release:
        """The release of one group; its guarantee is the one for all groups together."""
        parts = key if isinstance(key, tuple) else (key,)
        try:
            place = self.keys.index(parts)
        except ValueError:
            raise not_released(f"key of {', '.join(self.by)}", key, list(self)) from None
        return self._release(place)

    def items(self) -> Iterator[tuple[Any, Release]]:
        """Pairs of a key and the release of its group."""
        return zip(self, map(self._release, range(len(self))), strict=True)

    def _release(self, place: int) -> Release:
        return Release(
            values=self.values[place],
            ranks=None if self.ranks is None else self.ranks[place],
            q=self.q,
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            type=self.type,
            note=self.note,
            provenance=self.provenance,
            backend=self.backend,
        )

    def long(self) -> dict[str, list[Any]]:
        """Columns in long form: the keys, `q` and `value`; one row per key and quantile.

        There are also `lower` and `upper` where there are intervals, and what is known about
        each group: `size`, and `expected_error`, the expected rank error as a share of the size,
        for the least suitable records. If a column of the keys has one of these names, the other
        one gets an underscore.
        """
        from dpquantiles.sources.tables import free_name

        repeated = [key for key in self.keys for _ in self.q]
        columns = {name: [key[i] for key in repeated] for i, name in enumerate(self.by)}
        answers = [value for row in self.values for value in row]
        named = {"q": list(self.q) * len(self), "value": answers, **self._ends()}
        for name, facts in self._facts().items():
            named[name] = [fact for fact in facts for _ in self.q]
        return columns | {free_name(name, self.by): column for name, column in named.items()}

    def _ends(self) -> dict[str, list[Any]]:
        """The ends of all intervals, None for an open one."""
        if self.ranks is None:
            return {}
        intervals = [one for _, release in self.items() for one in release.interval()]
        return {
            "lower": [interval.lower for interval in intervals],
            "upper": [interval.upper for interval in intervals],
        }

    def _facts(self) -> dict[str, list[Any]]:
        """What is known about every group: its public or private size, and its expected error."""
        names = {"sizes": "size", "expected_errors": "expected_error"}
        known: Mapping[str, Any] = self.provenance
        return {names[name]: list(known[name]) for name in names if name in known}

    def columns(self) -> dict[str, list[Any]]:
        """The long form."""
        return self.long()

    def wide(self) -> dict[str, list[Any]]:
        """Columns in wide form: the keys, and one column per quantile; one row per key."""
        columns = {name: [key[i] for key in self.keys] for i, name in enumerate(self.by)}
        names = self._quantile_names()
        answers = {names[q]: [row[i] for row in self.values] for i, q in enumerate(self.q)}
        return columns | answers

    def _quantile_names(self) -> dict[float, str]:
        """A column name for each quantile, such as q0.5; with all digits if few are ambiguous."""
        from dpquantiles.sources.tables import free_name

        few = {q: f"q{q:.10g}" for q in self.q}
        apart = len(set(few.values())) == len(few)
        return {q: free_name(few[q] if apart else f"q{q!r}", self.by) for q in self.q}

    def to_wide(self, backend: str | None = None) -> Any:
        """The wide form as a frame of the data's library, or of the named one."""
        return self._frame(self.wide(), backend)

    def _frame(self, columns: dict[str, list[Any]], backend: str | None) -> Any:
        keys = {name: _of_one_type(columns[name]) for name in self.by}
        return super()._frame(columns | keys, backend)

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        kind = named(self.type)
        return {
            "format": FORMAT,
            "by": list(self.by),
            "key_types": list(self.key_types),
            "q": list(self.q),
            "groups": [
                {
                    "key": [_plain(part) for part in key],
                    "values": [kind.to_json(value) for value in row],
                }
                | ends
                for key, row, ends in zip(self.keys, self.values, self._plain_ends(), strict=True)
            ],
            **self._origin(chain(*self.values)),
        }

    def _plain_ends(self) -> list[dict[str, object]]:
        """For every group, the ends of its intervals and what they rest on."""
        if self.ranks is None:
            return [{}] * len(self)
        kept = ("lower", "upper", "ranks")
        groups = (release.to_dict() for _, release in self.items())
        return [{name: group[name] for name in kept} for group in groups]

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        kind, types, groups = cls._kind(plain), tuple(plain["key_types"]), plain["groups"]
        return {
            **super()._arguments(plain),
            "by": tuple(plain["by"]),
            "key_types": types,
            "keys": tuple(
                tuple(_part(part, name) for part, name in zip(group["key"], types, strict=True))
                for group in groups
            ),
            "values": tuple(
                tuple(kind.from_json(value) for value in group["values"]) for group in groups
            ),
            "ranks": tuple(MeasuredRanks.from_dict(group["ranks"], kind) for group in groups)
            if groups and all("ranks" in group for group in groups)
            else None,
        }


def _plain(part: Any) -> Any:
    return part if isinstance(part, (str, int)) else part.isoformat()


def _part(plain: Any, name: str) -> Any:
    stand_in = isinstance(plain, str) and plain.startswith("<")  # for a date beyond Python's years
    return named("date").from_json(plain) if name == "date" and not stand_in else plain


def _of_one_type(keys: list[Any]) -> list[Any]:
    """A column of keys in one type, as frames need it: dates beside a stand-in become text."""
    return [_plain(key) for key in keys] if any(isinstance(key, str) for key in keys) else keys
