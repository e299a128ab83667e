"""One release per group by any mechanism: parallel composition, so all groups share one budget."""

from collections.abc import Callable

from dpquantiles.entropy import Bits
from dpquantiles.mechanisms import registry
from dpquantiles.mechanisms.joint_exp_groups import Answers, GroupAnswers
from dpquantiles.mechanisms.mechanism import Mechanism
from dpquantiles.privacy import Neighbors
from dpquantiles.views import SortedView
from dpquantiles.views.groups import Groups
from dpquantiles.views.protocol import Ints


def release_groups(
    build: Callable[[int | None], Mechanism], groups: Groups, sizes: Ints | None, bits: Bits
) -> GroupAnswers:
    """Answers per group, and their sizes as far as these are public.

    `build` makes the mechanism for a size. Under add-remove neighbors `sizes` are public numbers;
    without them every group buys its own.
    """
    mechanism = build(None)
    draw_groups = registry.REGISTERED[mechanism.name].draw_groups
    if draw_groups is not None:
        return draw_groups(mechanism, groups, sizes, bits)
    each: list[int | None] = [None] * len(groups) if sizes is None else sizes.tolist()
    released = [
        release_one(build, groups.view(group), size, bits) for group, size in enumerate(each)
    ]
    return [answers for answers, _ in released], [size for _, size in released]


def release_one(
    build: Callable[[int | None], Mechanism], view: SortedView, size: int | None, bits: Bits
) -> tuple[Answers, int | None]:
    """The answers of one group, and its public size: given, counted under swap, or bought."""
    mechanism = build(size)
    release = mechanism.release(view, bits)
    if size is not None:
        return release.values, size
    if mechanism.guarantee.neighbors is Neighbors.SWAP:
        return release.values, view.n
    return release.values, release.provenance.get("size")  # type: ignore[return-value]
