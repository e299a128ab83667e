"""JointExp: many quantiles by one exponential mechanism, exact on an integer grid.

Gillenwater, Joseph, Kulesza, "Differentially Private Quantiles" (arXiv 2102.08244), on a grid
instead of the continuum, with ties treated as sets, and with a window of ranks that makes the cost
independent of the number of records. The proof, with the same equation numbers, is `joint_exp.md`
beside this file. The law and draws from it are in `joint_exp_law.py`.

    targets   T_k = round(q_k nu),  nu the public size; lower where records are missing
    utility   u(X, o) = - sum_k |p_k - p_{k-1}| - min(|E - p_m|, S),  E = n - nu              (1)
    path      p_0 = 0,  p_k = clamp(p_{k-1}, lo(o_k) - T_k, hi(o_k) - T_k)                    (2)
    law       P[o] proportional to  1[path inside] exp(c u(X, o)) + B                         (3)
    floor     B = exp(-c (L - D)) / (exp(c D) - 1),  D the sensitivity                        (4)

`lo(v)` and `hi(v)` count the records below v, and at or below v. A path is inside if it stays in
[-R, R]. The floor B makes the window private: it covers the most that a neighbor can gain or lose
by crossing the edge of the window. L is what leaving the window costs at least: 2R under swap, for
the way out and the way back; R under add-remove, where the end of the data costs at most S. So a
stated size that is wrong by any number costs at most S. The rate c is epsilon / (2 sensitivity),
minus what rounding costs.
Under add-remove, one or two quantiles need no size at all: see `joint_exp_copies.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpquantiles import require
from dpquantiles.entropy import Bits
from dpquantiles.errors import DemandTooLarge, InvalidValue
from dpquantiles.forking import cached_property
from dpquantiles.grid import MOST_STEPS, Grid, GridFamily
from dpquantiles.kernels import scans
from dpquantiles.kernels.algebra import Algebra, Logarithms
from dpquantiles.kernels.gaps import MOST_ANSWERS
from dpquantiles.mechanisms.family_shares import log_volumes
from dpquantiles.mechanisms.joint_exp_copies import Copies
from dpquantiles.mechanisms.joint_exp_family import FamilyLaw, FamilySetting
from dpquantiles.mechanisms.joint_exp_law import (
    Geometry,
    JointExpLaw,
    Setting,
    Strip,
    Window,
    log_expm1,
    log_floor,
    runs,
)
from dpquantiles.mechanisms.mechanism import Profile, WithLaw, target_ranks
from dpquantiles.privacy import Neighbors
from dpquantiles.views import Demand, SortedView, copied, copied_demand

LOG_FLOOR_CHANCE = -64 * math.log(2)
"""With the default reach, the floor has a chance of at most 2**-64; this is for utility only."""

LOG_WRONG_SIZE = -32.0
"""A size that is off by more than S costs S, which is this many nats; with a right size, paths that
pay S are never seen."""

ANCHORS = (0.25, 0.5, 0.75)
"""Quantiles that are drawn too, and dropped, where the asked ones would leave the range open."""

FIRM, ENOUGH = 16.0, 2
"""A quantile holds the range of a family if leaving the data would cost it FIRM nats; that many
such quantiles are enough."""

TYPICAL_POINTS = 2**32
"""In a family, the default reach is that of a grid of this size, for narrow data far from zero."""

MOST_STATES = 1 << 27
"""The most cells (answers times axis length) of a forward pass, at 40 bytes each; only data of that
size fill them."""

LEAST_RATE = 2.0**-60
"""A smaller rate is refused later, because rounding costs more; this keeps windows finite."""

MOST_RATE = 2.0**40
"""A larger rate changes no answer; beyond about 2**60, logarithms would lose the scales of gaps."""


@dataclass(frozen=True, kw_only=True)
class JointExp(WithLaw):
    """All quantiles `q` at once, within one budget.

    `reach` is the half-width R of the window of ranks; None chooses it from public numbers so that
    the floor has no visible effect. `size` is the public size nu under add-remove neighbors:
    answers are the quantiles at the ranks q nu, whether or not nu is right. Without it, `copies`
    may do; else a release spends a share of its budget on a private count (`COUNT_SHARE`).
    """

    name: ClassVar[str] = "joint_exp"
    profile: ClassVar[Profile] = Profile(
        kinds=("pure", "approximate", "concentrated"),
        neighbors=("swap", "add-remove"),
        cost="m R + m^2 R where windows overlap",
        when="The usual choice for up to about a dozen quantiles: one draw for all of them.",
    )
    reach: int | None = None
    member: int | None = None
    """The member of a family of grids, where it was drawn before; by default it is drawn now."""
    together: int = 1
    """How many groups choose the member of a family of grids, at most."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach is not None:
            object.__setattr__(self, "reach", require.count(minimum=1, reach=self.reach))

    @property
    def epsilon(self) -> float:
        """The range of the privacy loss: all of an epsilon, or what a rho exactly pays for."""
        return self.budget.bounded_range()

    @cached_property
    def copies(self) -> Copies | None:
        """How often every record counts where that makes a size unnecessary."""
        return Copies.of(self.q, self.epsilon) if super().buys_size else None

    @property
    def unit(self) -> int:
        """How many ranks a record counts for in utility, window and targets."""
        return 1 if self.copies is None else self.copies.times

    @property
    def buys_size(self) -> bool:
        """Whether a release buys the number of records."""
        return super().buys_size and self.copies is None

    @property
    def sensitivity(self) -> int:
        """The most by which a neighbor changes the utility of an answer."""
        return self.neighbors.records if self.copies is None else self.copies.sensitivity

    @property
    def beyond(self) -> int:
        """How many points answers have beyond the grid: one if a stated size may be too large."""
        return int(self.neighbors is Neighbors.ADD_REMOVE and self.copies is None)

    def demand(self, n: int, grid: Grid | None = None, missing: int = 0) -> Demand:
        """The records around every target, for a given grid or for the largest one."""
        drawing, often = self.anchored(n + missing, grid), n * self.unit
        setting = drawing._common_setting(n + missing, grid)
        return copied_demand(runs(drawing._geometry(often, setting, missing), often), self.unit)

    def cells(self, n: int, grid: Grid) -> int:
        """How many cells, answers times axis length, a draw from n records passes through."""
        drawing = self.anchored(n, grid)
        return len(drawing.q) * drawing._geometry(n, drawing._common_setting(n, grid)).length

    def anchored(self, n: int, grid: Grid | None) -> "JointExp":
        """The mechanism that is drawn from: it may have more quantiles, behind the asked ones.

        In a family, quantiles near the ends of the data cannot tell how wide the range is: beyond
        the data, all answers are nearly as good. Others in the same draw hold the range, at no cost
        to privacy and little to accuracy. Where there is no size, `sized` sees to it.
        """
        if not isinstance(grid, GridFamily) or self.copies is not None:
            return self
        nats = 2 * self._nominal_rate * self.public_size(n)
        firm = [nats * min(q, 1 - q) >= FIRM for q in self.q]
        if all(firm) or sum(firm) >= ENOUGH:
            return self
        return replace(self, q=(*self.q, *(q for q in ANCHORS if q not in self.q)))

    def law(self, view: SortedView) -> Any:
        """The exact distribution: a `JointExpLaw`, or a `FamilyLaw` on a family of grids."""
        if not isinstance(view.grid, GridFamily):
            return self.law_on_grid(view)
        order, records = np.argsort(self.q, kind="stable"), copied(view, self.unit)
        size, missing = self.counted(records), self.left_out(records)
        geometry = self._geometry(records.n, self._common_setting(size, view.grid), missing)
        members = self.family_setting(self._public_n(size), view.grid)
        law = FamilyLaw(view.grid, members, geometry, Strip.of(records, geometry), order)
        return law if self.member is None else law.member_law(self.member)

    def law_on_grid(self, view: SortedView) -> JointExpLaw:
        """The exact distribution (3) on a single grid."""
        records = copied(view, self.unit)
        setting = self.setting(self._public_n(self.counted(records)), view.grid.size)
        geometry = self._geometry(records.n, setting, self.left_out(records))
        return JointExpLaw.of(records, geometry, np.argsort(self.q, kind="stable"))

    def drawn(self, view: SortedView, bits: Bits) -> tuple[Sequence[Any], dict[str, object]]:
        """One draw, and the grid of the answers if it was drawn with them."""
        drawing = self.anchored(self.counted(view), view.grid)
        law = drawing.law(view)
        if not isinstance(law, FamilyLaw):
            return law.draw(bits)[: len(self.q)], {}
        index = law.draw_index(bits)
        values = law.member_law(index).draw(bits)[: len(self.q)]
        return values, {"grid": law.family.describe_member(index)}

    def buys_size_on(self, grid: Grid) -> bool:
        """Whether a release on this grid buys a size, if only for the sake of anchors."""
        copies = self.copies if isinstance(grid, GridFamily) else None
        return self.buys_size or (copies is not None and copies.near_ends)

    def sized(self, view: SortedView, bits: Bits) -> Self:
        """This mechanism with a public size, which is bought if needed."""
        return self.bought(view, bits) if self.buys_size_on(view.grid) else self

    def public_numbers(self, n: int) -> dict[str, object]:
        """The numbers that a release states beside its answers: the size, if there is one."""
        return super().public_numbers(n) if self.copies is None else {}

    def _public_n(self, n: int) -> int | None:
        return n if self.neighbors is Neighbors.SWAP else None

    def _common_setting(self, n: int, grid: Grid | None) -> Setting:
        if isinstance(grid, GridFamily):
            return self.family_setting(self._public_n(n), grid).common
        return self.setting(self._public_n(n), MOST_STEPS if grid is None else grid.size)

    def _geometry(self, n: int, setting: Setting, missing: int = 0) -> Geometry:
        if self.copies is not None:
            nu, targets = n, self.copies.targets(n)
        else:
            nu = self.public_size(n + missing)
            targets = target_ranks(np.sort(self.q), nu, missing)
        start = max(-setting.reach, -int(targets[-1]))
        stop = min(setting.reach, max(0, n - int(targets[0])))
        return Geometry(setting, targets, n, n + missing - nu, start, stop - start + 1)

    def setting(self, public_n: int | None, points: int) -> Setting:
        """Window, floor, rate and algebra; `public_n` is the number of records if it is public."""
        steps = len(self.q)
        log_volume = math.log(math.comb(points + self.beyond + steps - 1, steps))
        window = self._window(public_n, log_volume)
        algebra, log_range = window.masses(log_volume)
        rounding = scans.draw_loss(algebra, steps, window.longest, window.nominal, log_range)
        rate = self._rate(rounding)
        return self._setting(window, rate, log_volume, log_range, algebra)

    def family_setting(self, public_n: int | None, family: GridFamily) -> FamilySetting:
        """The same for a family of grids: one window, floor and rate for all of its members.

        Rounding is paid for the member for which it costs most, and for the draw of a member.
        """
        steps = len(self.q)
        window = self._window(public_n, float(log_volumes(TYPICAL_POINTS, steps)[-1]))
        largest = float(log_volumes(int(family.points.max()) + self.beyond, steps)[-1])
        members = max(
            scans.draw_loss(algebra, steps, window.longest, window.nominal, window.range(largest))
            for algebra in (Logarithms(), window.masses(0.0)[0])
        )
        algebra, log_range = FamilySetting.stored(window, steps)
        choice = scans.choice_loss(
            algebra, steps, window.longest, window.nominal, log_range + largest
        )
        nats = log_range + largest - window.log_floor - float(family.log_weights(steps).min())
        rate = self._rate(members + choice + scans.sum_loss(self.together, nats))
        common = self._setting(window, rate, largest, log_range, algebra)
        return FamilySetting(common, window, steps)

    @property
    def _nominal_rate(self) -> float:
        """The rate before rounding is paid for."""
        return min(max(self.epsilon / (2 * self.sensitivity), LEAST_RATE), MOST_RATE)

    def _setting(
        self, window: Window, rate: float, log_volume: float, log_range: float, algebra: Algebra
    ) -> Setting:
        """The setting of a window, at the rate that rounding leaves."""
        floor = log_floor(rate, window.leaving, self.sensitivity)
        ends = window.most_end, self.beyond
        return Setting(window.reach, *ends, rate, floor, log_volume, log_range, algebra)

    def _window(self, public_n: int | None, log_volume: float) -> Window:
        """The window of ranks, if it is not too long, with the default reach (5)."""
        steps, delta, nominal = len(self.q), self.sensitivity, self._nominal_rate
        needed = log_volume - LOG_FLOOR_CHANCE + max(0.0, -log_expm1(nominal * delta))
        stated = 0 if self.reach is None else self.unit * self.reach
        if self.beyond:
            most_end = math.ceil(-LOG_WRONG_SIZE / nominal)
            reach = stated or delta + math.ceil(needed / nominal) + most_end
            leaving = reach
        else:
            reach = stated or delta + math.ceil(needed / (2 * nominal))
            # E = 0, so the end of the data is never farther away than this.
            most_end, leaving = reach, 2 * reach
        longest = 2 * (reach if public_n is None else min(reach, public_n)) + 1
        if steps > MOST_ANSWERS:
            raise DemandTooLarge(
                f"joint_exp answers at most {MOST_ANSWERS} quantiles at once, got {steps}; "
                "ask for fewer, or use mechanism='recursive_joint_exp'"
            )
        if steps * longest > MOST_STATES:
            raise DemandTooLarge(
                f"{steps} quantiles at epsilon={self.epsilon:g} need windows of {longest} ranks "
                "each; use a larger epsilon, fewer quantiles or a coarser resolution"
            )
        floor = log_floor(nominal, leaving, delta)
        return Window(reach, leaving, most_end, longest, nominal, floor)

    def _rate(self, rounding: float) -> float:
        """c of (3): what rounding leaves of epsilon, per unit of utility."""
        if not 4 * rounding <= self.epsilon:
            raise InvalidValue(
                f"epsilon must be at least four times what rounding may cost here, {rounding:.2g}, "
                f"got {self.epsilon!r}; use fewer quantiles or a coarser resolution, or a larger "
                "epsilon if it is small"
            )
        rate = (self.epsilon - rounding) / (2 * self.sensitivity)
        # A difference and a quotient err by at most 2**-52. Seeded answers depend on every bit of
        # this rate, so do not change how it is computed.
        return min(rate * (1 - 2.0**-50), MOST_RATE)
