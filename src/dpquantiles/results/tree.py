"""ReleasedTree: noisy counts of a tree over the grid, a public value that answers any quantile."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpquantiles import privacy, require
from dpquantiles.errors import InvalidValue
from dpquantiles.grid import Grid
from dpquantiles.kernels import tree
from dpquantiles.kernels.algebra import Floats
from dpquantiles.privacy import Guarantee
from dpquantiles.results import reading
from dpquantiles.results.release import Release
from dpquantiles.results.result import FORMAT, require_format


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedTree:
    """Noisy counts, from which any number of quantiles can be read at no further cost.

    `edges` are the first steps of all leaves, and the end of the last. `size` is the number of
    records if it is public, and `total` how many of them the tree counts, up to noise if some may
    be missing. `reading` says how answers are read off the counts: "settled" uses
    least-squares masses without negative ones, "raw" uses the counts as they are. If there is a
    `note`, it says why the tree is not private; then its releases carry no guarantee.
    """

    mechanism: str
    grid: Grid
    edges: NDArray[np.int64]
    branching: int
    levels: tuple[NDArray[np.int64], ...]
    size: int | None
    total: int | None
    reading: str
    budget: Guarantee
    note: str = ""

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee of the tree and of everything that is read off it, together."""
        return None if self.note else self.budget

    @property
    def masses(self) -> Floats:
        """An estimate of the number of records in each leaf."""
        total = None if self.total is None else min(self.total, self.size or 0)
        return tree.masses(self.levels, self.branching, total, self.reading)

    def quantiles(self, q: Sequence[float] | float | str) -> Release:
        """Answers to any quantiles, in the order of `q`; they cost nothing (post-processing)."""
        requested = require.quantiles(q=q)
        order = np.argsort(requested, kind="stable")
        steps = np.empty(len(requested), dtype=np.int64)
        steps[order] = reading.answers(
            self.grid, self.masses, self.edges, np.asarray(requested)[order]
        )
        return Release(
            values=tuple(self.grid.decode(steps)),
            q=requested,
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            type=self.grid.kind.name,
            note=self.note,
            provenance={"budget": self.budget.to_dict(), **self._shape()},
        )

    def _shape(self) -> dict[str, object]:
        return {
            "grid": self.grid.describe(),
            "height": len(self.levels),
            "branching": self.branching,
            "reading": self.reading,
            **({} if self.size is None else {"size": self.size}),
        }

    def merge(self, other: "ReleasedTree") -> "ReleasedTree":
        """The tree of the records of both trees, which must have no person in common.

        Each record is in only one of the two, so the larger of both budgets covers it.
        """
        if self._alike() != other._alike():
            raise InvalidValue(
                "other must have the same grid, reading, neighbors and kind of budget "
                f"to be merged, got {other._alike()!r} beside {self._alike()!r}"
            )
        if self.branching != other.branching or not np.array_equal(self.edges, other.edges):
            raise InvalidValue(
                "other must have the same leaves, joined in the same way, to be merged, got "
                f"{len(other.edges) - 1} leaves beside {len(self.edges) - 1}; cells that follow "
                "the records differ from tree to tree: for trees that can be merged, use agg_tree"
            )
        pairs = zip(self.levels, other.levels, strict=True)
        return ReleasedTree(
            mechanism=self.mechanism,
            grid=self.grid,
            edges=self.edges,
            branching=self.branching,
            levels=tuple(a + b for a, b in pairs),
            size=_both(self.size, other.size),
            total=_both(self.total, other.total),
            reading=self.reading,
            budget=max(self.budget, other.budget, key=lambda budget: budget.amount),
            note=self.note or other.note,
        )

    def _alike(self) -> dict[str, object]:
        """The properties, besides their leaves, that two trees must share to be added up."""
        budget = {"neighbors": str(self.budget.neighbors), "kind": self.budget.kind}
        return {"grid": self.grid.describe(), "reading": self.reading, **budget}

    def to_json(self) -> str:
        """The tree as JSON text, the inverse of `from_json`."""
        plain = {
            "format": FORMAT,
            "mechanism": self.mechanism,
            **self._shape(),
            "total": self.total,
            "budget": self.budget.to_dict(),
            "note": self.note,
            "edges": self.edges.tolist(),
            "levels": [counts.tolist() for counts in self.levels],
        }
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str, grid: Grid) -> "ReleasedTree":
        """The tree that `to_json` wrote, with the grid that it was made on."""
        plain: Mapping[str, Any] = json.loads(text)
        require_format(plain)
        if plain["grid"] != json.loads(json.dumps(grid.describe())):
            raise InvalidValue(
                f"grid must be the tree's own, {plain['grid']}, got {grid.describe()}"
            )
        return cls(
            mechanism=plain["mechanism"],
            grid=grid,
            edges=np.array(plain["edges"], dtype=np.int64),
            branching=plain["branching"],
            levels=tuple(np.array(counts, dtype=np.int64) for counts in plain["levels"]),
            size=plain.get("size"),
            # Trees of earlier versions count all records, so they have one number.
            total=plain.get("total", plain.get("size")),
            reading=plain["reading"],
            budget=privacy.from_dict(plain["budget"]),
            note=plain["note"],
        )


def _both(one: int | None, other: int | None) -> int | None:
    """The sum of two numbers, if both are known."""
    return None if one is None or other is None else one + other
