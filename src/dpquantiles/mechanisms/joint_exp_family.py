"""JointExp on a family of grids: the grid is drawn together with the answers.

    law       P[(s, o)] proportional to  w(s) / V(s) (1[path inside] exp(c u_s(X, o)) + B)    (1)

s is a member of the family, w its public weight, V(s) its number of possible answers, and u_s the
utility of JointExp, by the true ranks of its points among all records. What nobody stated about the
range and the rounding of the data is paid for once, with about log 1/w(s), and not once per answer.
The member is drawn from its total weight; then the answers are drawn by JointExp on this member.
Proof: `joint_exp_family.md` beside this file.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpquantiles.entropy import Bits
from dpquantiles.grid import GridFamily
from dpquantiles.kernels import algebra as algebras
from dpquantiles.kernels import draws
from dpquantiles.kernels.algebra import Algebra, Floats, Logarithms
from dpquantiles.kernels.places import Ints, Places
from dpquantiles.kernels.scans import Decay
from dpquantiles.mechanisms.family_shares import RecordStrip, log_shares, log_volumes
from dpquantiles.mechanisms.joint_exp_law import Geometry, JointExpLaw, Setting, Strip, Window

UNCOUNTED = 64.0
"""Nats for the points of one gap, at most 2**62, and for the masses of all cells together."""


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

        They are at most one, but on the way there masses may be smaller or larger by the slack.
        """
        slack = steps * math.log(2) + UNCOUNTED
        floor = window.log_floor - slack
        algebra = algebras.choose(slack, floor, window.longest, window.nominal)
        return algebra, window.range(0.0) + slack


@dataclass(frozen=True)
class FamilyLaw:
    """The law (1) on one data set; `strip` has its records as steps of the finest grid."""

    family: GridFamily
    setting: FamilySetting
    geometry: Geometry
    strip: Strip
    order: Ints

    @cached_property
    @np.errstate(all="ignore")
    def log_weights(self) -> Floats:
        """The log weights of all members: those of their answers, added up."""
        setting, geometry, strip = self.setting.common, self.geometry, self.strip
        decay = Decay.of(setting.rate, geometry.length, setting.algebra)
        places = Places.of_steps(strip.steps[:-1], strip.steps[1:], 0)
        axes = geometry.axes(places, strip)
        records = RecordStrip(axes, strip.before, strip.stop)
        inside = log_shares(
            self.family, records, strip.steps, decay, setting.beyond, setting.log_floor
        )
        weights = self.family.log_weights(len(self.order))
        return np.asarray(weights + np.logaddexp(inside, setting.log_floor))

    def draw(self, bits: Bits) -> tuple[Any, ...]:
        """One draw: the values, in the order of the quantiles."""
        return self.member_law(self.draw_index(bits)).draw(bits)

    def draw_index(self, bits: Bits) -> int:
        """Draw a member in exact proportion to its weight."""
        return draws.weighted(bits, self.log_weights, Logarithms())

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
