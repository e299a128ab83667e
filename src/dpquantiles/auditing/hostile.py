"""Hostile checks: records that try to raise, warn or change the shape of a release."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from dpquantiles import api
from dpquantiles.auditing.checks import Check, Found
from dpquantiles.auditing.end_to_end import asked
from dpquantiles.grid import UniformGrid
from dpquantiles.mechanisms import registry
from dpquantiles.privacy import Neighbors
from dpquantiles.results import Release

Q = (0.25, 0.5)
GRID = UniformGrid(0.0, 4.0, 1.0)
"""It states the type, which is public, so that only records can differ."""


class Raises:
    """A record that raises whatever is asked of it."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("a record was asked for something")

    __float__ = __int__ = __index__ = __bool__ = __lt__ = __eq__ = __str__ = __repr__ = _refuse
    __hash__ = _refuse


HOSTILE: dict[str, Any] = {
    "nothing": [],
    "one record": [1.0],
    "missing": [None, float("nan"), np.float64("nan")],
    "infinite": [float("inf"), -float("inf"), 1.0],
    "huge": [1e308, -1e308, 10**400, -(10**400)],
    "denormal": [5e-324, -5e-324, -0.0, 0.0],
    "all equal": [2.0] * 50,
    "text": ["", "1", "nan", "\ud800"],
    "decimals": [Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+999999")],
    "lists": [[], [1.0], {}, {"a": 1}, ()],
    "objects that raise": [Raises(), Raises(), 1.0],
    "array of doubles": np.array([np.nan, np.inf, -np.inf, 1e308, 5e-324]),
    "array of objects": np.array([None, "x", Raises(), 10**400], dtype=object),
    "array of flags": np.array([True, False]),
    "array of nothing": np.array([], dtype=np.float64),
}
"""By what is wrong with them."""


def checks(names: Sequence[str]) -> Iterator[Check]:
    """All mechanisms on all hostile records, for each relation."""
    for relation in Neighbors:
        able = [n for n in names if relation in registry.MECHANISMS[n].profile.neighbors]
        if able:
            yield Check(
                subject=able[0] if len(able) == 1 else f"{len(able)} mechanisms",
                neighbors=str(relation),
                method="hostile",
                claim="never raises",
                limit=0.0,
                run=partial(_run, able, relation),
            )


def _run(names: Sequence[str], relation: Neighbors) -> Found:
    failures = [
        f"{name} on {about}: {why}"
        for name, (about, data) in itertools.product(names, HOSTILE.items())
        if (why := failure(data, _options(name, relation)))
    ]
    return Found(len(failures), len(names) * len(HOSTILE), "; ".join(failures[:3]))


def _options(name: str, relation: Neighbors) -> dict[str, Any]:
    q = Q[1:] if name == "slice_quantiles" else Q
    return {"q": q, "grid": GRID, "mechanism": name, **asked(name, relation)}


def failure(data: Any, options: dict[str, Any]) -> str:
    """What a release of these records does that harmless ones would not; nothing if all is well."""
    try:
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            release = api.quantiles(data, **options)
    except Exception as error:
        return type(error).__name__
    return "" if _harmless(release, options["q"]) else "another kind of release"


def _harmless(release: Release, q: tuple[float, ...]) -> bool:
    """Whether a release is as it would be for any other records: in shape, type and order."""
    values = list(release.values)
    return (
        release.q == q
        and release.guarantee is not None
        and [type(value) for value in values] == [float] * len(q)
        and values == sorted(values)
        and all(0.0 <= value <= 4.0 and value == round(value) for value in values)
    )
