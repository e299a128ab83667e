"""The audit of anybody's function, by draws of its results on two neighboring data sets."""

from collections.abc import Callable
from typing import Any

from dpquantiles import require
from dpquantiles.auditing.checks import Check, Found, in_short
from dpquantiles.auditing.events import Failed, caught
from dpquantiles.auditing.findings import Audit
from dpquantiles.auditing.statistical import LEAST_DRAWS, evidence
from dpquantiles.errors import InvalidType
from dpquantiles.privacy import budget


def audit(
    release: Callable[[Any], Any],
    neighbors: tuple[Any, Any] | None,
    epsilon: float | None,
    delta: float,
    draws: int,
    confidence: float,
) -> Audit:
    """One statistical finding; arguments as in `dpquantiles.audit`."""
    if not callable(release):
        raise InvalidType(
            f"release must be a function of one data set, got {require.shown(release)}; "
            "name mechanisms of this package as mechanisms=[...]"
        )
    if neighbors is None or epsilon is None:
        raise InvalidType("neighbors and epsilon must be given with a function, such as ([0], [1])")
    pair = require.pair(neighbors=neighbors)
    count = require.count(minimum=LEAST_DRAWS, draws=draws)
    stated = budget(epsilon=epsilon, delta=delta or None)

    def run() -> Found:
        # A function that cannot work at all says why itself.
        one, other = ([caught(release, data) for _ in range(count)] for data in pair)
        if all(isinstance(output, Failed) for output in (*one, *other)):
            release(pair[0])
        found = evidence(one, other, delta, 1.0 - confidence)
        return Found(found.epsilon, 2 * count, str(found))

    check = Check(
        subject=getattr(release, "__name__", type(release).__name__),
        neighbors="as given",
        method="statistical",
        claim=in_short(stated),
        limit=stated.amount,
        run=run,
    )
    return Audit(findings=(check.finding(),), confidence=confidence)
