"""A description: one release for each of several columns, with one guarantee for all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpquantiles.privacy import Guarantee
from dpquantiles.results.release import Release
from dpquantiles.results.result import FORMAT, Result, not_released


@dataclass(frozen=True, kw_only=True, repr=False)
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
        try:
            return self.releases[column]
        except (KeyError, TypeError):
            raise not_released("column", column, list(self.releases)) from None

    def items(self) -> Iterator[tuple[str, Release]]:
        """Pairs of a column and its release."""
        return iter(self.releases.items())

    def columns(self) -> dict[str, list[Any]]:
        """The table: `q`, and one column of answers per column, in its own type.

        If a column is itself called `q`, the quantiles are called `q_`.
        """
        from dpquantiles.sources.tables import free_name

        answers = {name: list(release.values) for name, release in self.releases.items()}
        return {free_name("q", answers): list(self.q), **answers}

    def to_dict(self) -> dict[str, object]:
        """A plain dictionary, the inverse of `from_dict`."""
        columns = {name: release.to_dict() for name, release in self.releases.items()}
        return {"format": FORMAT, "columns": columns, **self._promise()}

    @classmethod
    def _arguments(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        columns = plain["columns"].items()
        releases = {name: Release.from_dict(release) for name, release in columns}
        return {**super()._arguments(plain), "releases": releases}
