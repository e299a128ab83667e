"""One release per group by any mechanism: parallel composition, so all groups share one budget."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.mechanisms.count import counting_share
from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.joint_exp_groups import draw_groups
from dpquantiles.mechanisms.law import Mechanism
from dpquantiles.privacy import Neighbors
from dpquantiles.views.groups import Groups
from dpquantiles.views.protocol import Ints

Answers = tuple[Any, ...]


def release_groups(
    build: Callable[[int | None], Mechanism], groups: Groups, sizes: Ints | None, bits: Bits
) -> tuple[list[Answers], Ints | None]:
    """Answers per group, and the public sizes where there are any.

    `build` makes the mechanism for a size. Under add-remove neighbors `sizes` are public numbers;
    without them every group buys its own.
    """
    mechanism = build(None)
    swap = mechanism.guarantee.neighbors is Neighbors.SWAP
    if isinstance(mechanism, JointExp):
        if swap:
            return draw_groups(mechanism, groups, groups.n, bits), groups.n
        return _joint_exp(mechanism, groups, sizes, bits)
    each = [None] * len(groups) if sizes is None or swap else sizes.tolist()
    released = [build(size).release(groups.view(g), bits) for g, size in enumerate(each)]
    return [release.values for release in released], groups.n if swap else sizes


def _joint_exp(
    mechanism: JointExp, groups: Groups, sizes: Ints | None, bits: Bits
) -> tuple[list[Answers], Ints]:
    if sizes is not None:
        return draw_groups(mechanism, groups, sizes, bits), sizes
    count, rest = counting_share(mechanism.guarantee)
    priced = replace(mechanism.within(rest, q=mechanism.q, size=0), reach=mechanism.reach)
    bought: Ints = count.draw_all(groups.n, bits) if len(groups) else np.zeros(0, dtype=np.int64)
    return draw_groups(priced, groups, bought, bits), bought
