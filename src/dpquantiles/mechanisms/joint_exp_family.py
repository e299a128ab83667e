"""JointExp on a family of grids: the grid is drawn together with the answers.

    law       P[(s, o)] proportional to  w(s) / V(s) (1[path inside] exp(c u_s(X, o)) + B)    (1)

s is a member of the family, w its public weight, V(s) its number of possible answers, and u_s the
utility of JointExp, by the true ranks of its points among all records. What nobody stated about the
range and the rounding of the data is paid for once, with about log 1/w(s), and not once per answer.
The member is drawn from its total weight; then the answers are drawn by JointExp on this member.
Total weights are first drafted in narrower windows, because most of them turn out not to matter.
Proof: `joint_exp_family.md` beside this file.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.forking import cached_property
from dpquantiles.grid import GridFamily
from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats, Logarithms
from dpquantiles.kernels.places import Bools, Ints, Places
from dpquantiles.kernels.scans import Decay
from dpquantiles.mechanisms.family_shares import ROOM, RecordStrip, log_shares, log_volumes
from dpquantiles.mechanisms.joint_exp_law import Geometry, JointExpLaw, Setting, Strip, Window

UNCOUNTED = 64.0
"""Nats for the points of one gap, at most 2**62, and for the masses of all cells together."""

NEGLIGIBLE = 45.0
"""A share this many nats below the floor is less than a rounding error of their sum."""

KNOWN = 38.0
"""A weight is known if it lacks a part this many nats smaller: that is less than one rounding."""

FAINT = 38.0
"""A weight this many nats below the largest has no whole places in `draws.weighted`."""

SPARE = KNOWN + FAINT + 9.0
"""By how many nats first drafts go below the brackets that good members usually have."""

WIDER = 1.5
"""The factor by which drafts go farther if they do not suffice."""


@dataclass(frozen=True)
class FamilySetting:
    """The parameters that follow from public numbers."""

    common: Setting
    """Window, rate and floor of all members, and how their shares are stored."""
    window: Window
    steps: int

    def of(self, points: int) -> Setting:
        """The setting of a member with this many points."""
        log_volume = float(log_volumes(points + self.common.beyond, self.steps)[-1])
        algebra, log_range = self.window.masses(log_volume)
        return self.common._replace(log_volume=log_volume, log_range=log_range, algebra=algebra)

    @classmethod
    def stored(cls, window: Window, steps: int) -> tuple[Algebra, float]:
        """How shares are stored, and their log range.

        They are at most one, but on the way there masses may be smaller or larger by the slack, and
        smaller by the room that members leave each other.
        """
        slack = steps * math.log(2) + UNCOUNTED
        floor = window.log_floor - slack - ROOM
        algebra = algebras.choose(slack, floor, window.longest, window.nominal)
        return algebra, window.range(0.0) + slack + ROOM


class Draft(NamedTuple):
    """What is known of the brackets Z / V + B of all members before all of their answers count."""

    least: Floats
    """By member, the logarithm of what the bracket is at least."""
    nats: float
    """Every bracket is at most exp(-nats) larger."""

    @property
    def most(self) -> Floats:
        """By member, the logarithm of what the bracket is at most."""
        return np.asarray(np.logaddexp(self.least, -self.nats))

    @property
    def known(self) -> Bools:
        """Which brackets are known as well as numbers are."""
        return np.asarray(self.least >= KNOWN - self.nats)


@dataclass(frozen=True)
class FamilyLaw:
    """The law (1) on one data set; `strip` has its records as steps of the finest grid."""

    family: GridFamily
    setting: FamilySetting
    geometry: Geometry
    strip: Strip
    order: Ints

    @cached_property
    def log_weights(self) -> Floats:
        """The log weights of all members: those of their answers, added up."""
        return np.asarray(self.public + self.log_brackets)

    @property
    def public(self) -> Floats:
        """The log weights of all members before any record is read."""
        return self.family.log_weights(len(self.order))

    @cached_property
    def log_brackets(self) -> Floats:
        """log(Z / V + B) of all members."""
        return self._log_brackets(self.geometry, self.strip, math.inf)

    def draft(self, nats: float) -> Draft:
        """The brackets up to exp(-nats), by answers whose paths stay in a narrower window."""
        setting, cost = self.setting.common, nats / self.setting.common.rate
        reach = self.geometry.enough(cost)
        if reach >= setting.reach:
            return Draft(self.log_brackets, math.inf)
        geometry = self.geometry.narrowed(reach)
        strip = self.strip.shortened(geometry.start - self.geometry.start, geometry.length)
        return Draft(self._log_brackets(geometry, strip, cost), nats)

    @property
    def usual_nats(self) -> float:
        """How far a draft usually has to go: to the brackets of good members, and a bit farther.

        The farther targets are apart, the fewer of the possible answers are good. All of them pay
        for a size that is wrong.
        """
        m, setting, geometry = len(self.order), self.setting.common, self.geometry
        apart = max(1.0, setting.rate * geometry.n / (m + 1))
        wrong = setting.rate * min(abs(geometry.surplus), setting.most_end)
        return m * (1.0 + math.log(apart)) + wrong + SPARE

    @np.errstate(all="ignore")
    def _log_brackets(self, geometry: Geometry, strip: Strip, most: float) -> Floats:
        """The log brackets within a window; answers that cost more than `most` need not count."""
        setting = self.setting.common
        decay = Decay.of(setting.rate, geometry.length, setting.algebra)
        places = Places.of_steps(strip.steps[:-1], strip.steps[1:], 0)
        records = RecordStrip(geometry.axes(places, strip), strip.before, strip.stop)
        most = min(most, (NEGLIGIBLE - setting.log_floor) / setting.rate)
        inside = log_shares(self.family, records, strip.steps, decay, setting.beyond, most)
        return np.asarray(np.logaddexp(inside, setting.log_floor))

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        return self.member_law(self.draw_index(bits)).draw(bits)

    def draw_index(self, bits: Bits) -> int:
        """Draw a member in exact proportion to its weight."""
        return draw_member(self.public, [self], bits)

    def member_law(self, index: int) -> JointExpLaw:
        """The law of the answers, given a member."""
        member = self.family.members[index]
        geometry = self.geometry._replace(setting=self.setting.of(member.size))
        halves = self.family.member_halves(member, self.strip.steps)
        halves[: self.strip.before], halves[self.strip.stop :] = 0, 2 * member.size
        strip = self.strip._replace(steps=halves)
        return JointExpLaw.of_halves(member, geometry, strip, self.order)

    def log_probability(self, values: Sequence[Any]) -> float:
        """The log probability of these values, with any member."""
        numbers = np.array([self.family.kind.number(value, "values") for value in values])
        terms = [
            self.pair_log_probability(index, values)
            for index, member in enumerate(self.family.members)
            if member.decode(member.encode(numbers)) == list(values)
        ]
        return float(np.logaddexp.reduce(terms)) if terms else -math.inf

    def pair_log_probability(self, index: int, values: Sequence[Any]) -> float:
        """The log probability of a member together with these values, which are its points."""
        share = self.log_weights[index] - np.logaddexp.reduce(self.log_weights)
        return float(share) + self.member_law(index).log_probability(values)


@np.errstate(all="ignore")
def draw_member(public: Floats, laws: Sequence[FamilyLaw], bits: Bits) -> int:
    """Draw one member for some data sets: its log weight is the public one and all log brackets.

    Brackets are drafted until every weight is known or faint. A faint weight is computed in full if
    the draw comes to depend on it, which hardly ever happens.
    """
    drafts = [law.draft(law.usual_nats) for law in laws]
    while True:
        known = np.logical_and.reduce(
            [np.ones(len(public), dtype=bool), *(d.known for d in drafts)]
        )
        weights = public + sum(draft.least for draft in drafts)
        most = public + sum(draft.most for draft in drafts)
        wanted = most > weights.max() - FAINT
        if known[wanted].all():
            break
        drafts = [
            draft if draft.known[wanted].all() else law.draft(WIDER * draft.nats)
            for law, draft in zip(laws, drafts, strict=True)
        ]

    def exact(index: int) -> float:
        return float(public[index] + sum(law.log_brackets[index] for law in laws))

    return draws.weighted(bits, np.where(known, weights, -math.inf), Logarithms(), exact)
