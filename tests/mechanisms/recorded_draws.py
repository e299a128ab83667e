"""What a release really draws: the rate of every draw, and what all of them cost together.

Prices are written anew from the proofs, as fractions, and know nothing of the budgets that the
mechanisms were given. A draw that nothing here accounts for fails at once, so that no mechanism can
be registered without a price.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpquantiles.grid import Ruler
from dpquantiles.kernels import cells, draws
from dpquantiles.mechanisms import (
    above_threshold,
    adaptive_tree,
    agg_tree,
    bracketed,
    count,
    fitted,
    slice_quantiles,
)
from dpquantiles.mechanisms.baselines import csmooth, paper_joint_exp
from dpquantiles.mechanisms.joint_exp_law import JointExpLaw
from dpquantiles.privacy import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbors,
    composed_epsilon,
)
from dpquantiles.privacy.conversions import above
from dpquantiles.views import ArrayView, PartView
from dpquantiles.views.protocol import CopiedView

Patch = pytest.MonkeyPatch
DIGITS = Context(prec=60)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """A part of a release: whose records it asks about, its price, and its public numbers."""

    what: str
    records: range
    epsilon: Fraction | None
    """What one neighbor costs; None where no epsilon is enough."""
    rho: Fraction
    public: tuple[Any, ...]


def spent(parts: list[Draw], promised: Guarantee) -> Fraction:
    """What the parts cost together, in the measure of a promise: the most that any record pays."""
    starts = {part.records.start for part in parts if part.records}
    return max(
        _spent([part for part in parts if start in part.records], promised) for start in starts
    )


def _spent(parts: list[Draw], promised: Guarantee) -> Fraction:
    if isinstance(promised, ZCDP):
        return sum((part.rho for part in parts), Fraction(0))
    alone = [_known(part.epsilon) for part in parts if part.what != "joint"]
    joint = [_known(part.epsilon) for part in parts if part.what == "joint"]
    if isinstance(promised, ApproxDP):
        # Exponential mechanisms that are fixed beforehand, by Dong, Durfee, Rogers.
        most = composed_epsilon(above(max(joint)), promised.delta, len(joint))
        return sum(alone, Fraction(most))
    return sum(alone + joint, Fraction(0))


def _known(epsilon: Fraction | None) -> Fraction:
    assert epsilon is not None
    return epsilon


def range_rho(eta: Fraction) -> Fraction:
    """rho of a loss whose range is eta: eta / (e^eta - 1) - 1 + ln((e^eta - 1) / eta)."""
    with localcontext(DIGITS):
        x = Decimal(eta.numerator) / eta.denominator
        grown = x.exp() - 1
        return Fraction(x / grown - 1 + (grown / x).ln())


def cut_loss(rate: Fraction, toll: int) -> Fraction:
    """F of `adaptive_tree.md`: a + f(1) + f(1 + g) + f(1 + 2 g) + ..."""
    with localcontext(DIGITS):
        a = Decimal(rate.numerator) / rate.denominator
        s = (-a).exp()
        total, x = a, 1
        while a * x < 90:
            power = (-a * x).exp()
            total += ((1 + s - s * power) / (1 + s - power)).ln()
            x += toll
        return Fraction(total)


class GuardedBits(random.Random):
    """Seeded bits that may be taken only by a draw that is accounted for."""

    def __init__(self, seed: int, recorder: "Recorder") -> None:
        super().__init__(seed)
        self.recorder = recorder

    def getrandbits(self, k: int, /) -> int:
        assert self.recorder.depth, "bits were taken by a draw that nothing accounts for"
        return super().getrandbits(k)


@dataclass
class Recorder:
    """The draws of one release on the records of a view."""

    view: ArrayView
    neighbors: Neighbors
    draws: list[Draw] = field(default_factory=list)
    depth: int = 0
    inside: list[str] = field(default_factory=list)
    noise: list[tuple[Fraction, Any]] = field(default_factory=list)
    trees: int = 0
    """How many trees have noise for cuts that were not made yet."""
    parts: dict[int, tuple[Any, range, int | None]] = field(default_factory=dict)

    @property
    def swap(self) -> bool:
        return self.neighbors is Neighbors.SWAP

    def bits(self, seed: int) -> GuardedBits:
        return GuardedBits(seed, self)

    def add(
        self,
        what: str,
        epsilon: Fraction | None,
        rho: Fraction | None,
        *public: Any,
        records: range | None = None,
    ) -> None:
        """A part of known epsilon is at most epsilon^2 / 2 of a rho."""
        if rho is None:
            rho = _known(epsilon) ** 2 / 2
        where = range(self.view.n) if records is None else records
        self.draws.append(Draw(what=what, records=where, epsilon=epsilon, rho=rho, public=public))

    @contextmanager
    def drawing(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def histogram(self, what: str, rate: Fraction) -> None:
        """Noise on disjoint counts: a record is in one of them, a swap changes two."""
        changed = 2 if self.swap else 1
        self.add(what, changed * rate, changed * rate**2 / 2, rate)

    # What stands in for the library's own functions, in the order of the modules.

    def discrete_laplace(self, original: Callable[..., int]) -> Callable[..., int]:
        def drawn(bits: Any, rate: Fraction) -> int:
            self.add("count", rate, None, rate)
            with self.drawing():
                return original(bits, rate)

        return drawn

    def discrete_laplaces(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(bits: Any, rate: Fraction, number: int) -> Any:
            assert self.inside, "noise was drawn that nothing accounts for"
            with self.drawing():
                found = original(bits, rate, number)
            self.noise.append((rate, found))
            return found

        return drawn

    def keyed(self, original: Callable[..., cells.Noise]) -> Callable[..., cells.Noise]:
        """Noise of cells: drawn for one tree, and always the same for a cell."""

        def made(bits: Any, rate: Fraction) -> cells.Noise:
            with self.drawing():
                source, kept = original(bits, rate), dict[tuple[int, int], int]()
            self.trees += 1

            def noise(depth: int, start: cells.Ints) -> cells.Ints:
                with self.drawing():
                    found = source(depth, start)
                for key, z in zip(start.tolist(), found.tolist(), strict=True):
                    assert kept.setdefault((depth, key), z) == z
                assert self.inside, "noise was drawn that nothing accounts for"
                self.noise.append((rate, found))
                return found

            return noise

        return made

    def within(self, what: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose noise is priced once it is done, by the method of that name."""

        def run(*given: Any, **named: Any) -> Any:
            self.inside.append(what)
            self.noise.clear()
            made = original(*given, **named)
            self.inside.pop()
            getattr(self, what)(made, *given, **named)
            self.noise.clear()
            return made

        return run

    def tree(self, made: Any, *_: Any) -> None:
        """Every level has independent noise on all of its counts."""
        nodes, rest = self.noise[: len(made.levels)], self.noise[len(made.levels) :]
        exact = [level - noise for level, (_, noise) in zip(made.levels, nodes, strict=True)]
        for level, (rate, noise) in zip(exact, nodes, strict=True):
            assert len(noise) == len(level)
            assert level.min() >= 0
            assert level.sum() == self.view.n
            self.histogram("tree", rate)
        for coarse, fine in itertools.pairwise(exact):
            assert (fine.reshape(-1, made.branching).sum(axis=1) == coarse).all()

        if self.swap:
            self.present(made, rest, [rate for rate, _ in nodes])
        else:
            assert not rest
            assert made.total is None

    def present(self, made: Any, noise: list[tuple[Fraction, Any]], nodes: list[Fraction]) -> None:
        """A record that becomes missing leaves one node per level, where a swap changes two."""
        (((rate, (off,))),) = noise
        assert made.total - off == self.view.n
        spared = max(Fraction(0), rate - sum(nodes))
        spared_rho = max(
            Fraction(0), rate**2 / 2 - sum((node**2 for node in nodes), Fraction(0)) / 2
        )
        self.add("tree", spared, spared_rho, rate)

    def foreseen(self, *_: Any, **__: Any) -> None:
        """Only tells what will be asked. The noise is that of the cuts, so it is paid for there."""

    def cuts(
        self, _made: Any, _below: Any, _points: int, rule: cells.Rule, *_: Any, final: Any
    ) -> None:
        """However many cells are asked about, one price; which are never cut is public."""
        self.trees -= 1
        assert self.trees == 0, "the noise of other cuts was used again"
        assert isinstance(getattr(final, "__self__", None), Ruler)
        ((rate, *others),) = ([rate for rate, _ in self.noise],)
        assert set(others) <= {rate}
        most = cut_loss(rate, rule.toll)
        self.add(
            "cuts",
            most + rate if self.swap else most,
            range_rho(most + rate) * (2 if self.swap else 1),
            rate,
            rule,
        )

    def ranks(self, made: Any, _self: Any, view: Any, *_: Any) -> None:
        """One call for all cells, and what is released is the truth plus that noise."""
        ((rate, noise),) = self.noise
        if self.swap:
            *noise, off = noise
            assert made.missing - off == view.missing
        assert len(noise) == len(made.counts)
        cuts = view.grid.encode(np.array(made.lower))
        below = view.ranks(cuts)[0] if len(cuts) else []
        assert (np.array(made.counts) - noise == np.diff([0, *below, view.n])).all()
        self.histogram("ranks", rate)

    def slices(self, made: Any, mechanism: Any, view: Any, _bits: Any) -> None:
        """(5) of `slice_quantiles.py`."""
        ((rate, noise),) = self.noise
        plan = mechanism.plan(view.n + (view.missing if self.swap else 0), view.grid)
        m, t = len(set(made.q)), plan.slope
        assert len(noise) == m
        nodes = slice_quantiles.diameter(m) if self.swap else m.bit_length()
        windows = plan.decay * (3 + Fraction(2, t) if self.swap else 2 + Fraction(1, t))
        with localcontext(DIGITS):
            edge = Fraction((1 + Decimal(m) / (2 * plan.margin)).ln())
        self.add("slices", nodes * rate + windows + edge, None, plan.targets.tolist(), rate)

    def guarded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A draw whose price is that of what it is a part of."""

        def run(*given: Any) -> Any:
            with self.drawing():
                return original(*given)

        return run

    def joint_law(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def of(view: Any, geometry: Any, order: Any) -> Any:
            law = original(view, geometry, order)
            part = isinstance(view, PartView)
            where = range(view.start, view.stop) if part else range(self.view.n)
            copies = view.copies if isinstance(view, CopiedView) else None
            self.parts[id(law)] = law, where, copies
            return law

        return of

    def joint(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A record moves a utility by one, a swap by two; both weights and their sum by as much.

        If every record counts d times, it moves one gap by d and all targets by their shares of d.
        """

        def draw(law: JointExpLaw, bits: Any) -> Any:
            _, where, copies = self.parts[id(law)]
            public, moved = law.geometry.targets.tolist(), 2 if self.swap else 1
            if copies is not None:
                shares = [target // (law.geometry.n // copies) for target in public]
                gaps = [b - a for a, b in itertools.pairwise([0, *shares, copies])]
                public, moved = [repr(law.setting), *shares], 2 * (copies - min(gaps))
            eta = 2 * Fraction(law.setting.rate) * moved
            self.add("joint", eta, range_rho(eta), public, records=where)
            with self.drawing():
                return original(law, bits)

        return draw

    def walk(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """(5) of `above_threshold.py`."""

        def draw(walk: above_threshold.ThresholdWalk, bits: Any) -> int:
            share = walk.target / self.view.n
            times = Fraction(2) if self.swap else max(1 - share, 1 + share)
            self.add("walk", times * walk.rate, None)
            with self.drawing():
                return int(original(walk, bits))

        return draw

    def smooth(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """(4) of `csmooth.py`."""

        def draw(noise: csmooth.Noise, bits: Any) -> float:
            each = noise.t / noise.sigma + math.exp(1.5 * noise.sigma**2 + noise.log_s)
            self.add("smooth", None, Fraction(each) ** 2 / 2)
            with self.drawing():
                return float(original(noise, bits))

        return draw

    def continuum(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """(3) of `paper_joint_exp.py`."""

        def draw(law: paper_joint_exp.IntervalLaw, bits: Any) -> Any:
            least = Fraction(float(law.advances.min())) / law.last
            sensitivity = 2 if self.swap else 2 * (1 - least)
            self.add("continuum", 2 * Fraction(law.rate) * sensitivity, None)
            with self.drawing():
                return original(law, bits)

        return draw

    def parts_of_the_grid(self, original: Callable[..., int]) -> Callable[..., int]:
        def occupied(view: Any, length: int, limits: Any) -> int:
            self.draws.append(
                Draw(
                    what="question",
                    records=range(0),
                    epsilon=Fraction(0),
                    rho=Fraction(0),
                    public=(length, *limits),
                )
            )
            return original(view, length, limits)

        return occupied


@contextmanager
def recording(view: ArrayView, neighbors: str) -> Iterator[Recorder]:
    """Records every draw until it is left."""
    recorder = Recorder(view, Neighbors(neighbors))
    with Patch.context() as patch:
        for place, name, stand_in in (
            (count, "discrete_laplace", recorder.discrete_laplace),
            (draws, "discrete_laplaces", recorder.discrete_laplaces),
            (adaptive_tree, "KeyedLaplaces", recorder.keyed),
            (agg_tree.AggTree, "over", lambda f: recorder.within("tree", f)),
            (cells, "reached", lambda f: recorder.within("foreseen", f)),
            (cells, "grown", lambda f: recorder.within("cuts", f)),
            (bracketed.Bracketed, "_measure", lambda f: recorder.within("ranks", f)),
            (
                slice_quantiles.SliceQuantiles,
                "release",
                lambda f: recorder.within("slices", f),
            ),
            (slice_quantiles, "draw", recorder.guarded),
            (JointExpLaw, "of", recorder.joint_law),
            (JointExpLaw, "draw", recorder.joint),
            (above_threshold.ThresholdWalk, "draw", recorder.walk),
            (csmooth.Noise, "draw", recorder.smooth),
            (paper_joint_exp.IntervalLaw, "draw_points", recorder.continuum),
            (fitted, "occupied", recorder.parts_of_the_grid),
        ):
            patch.setattr(place, name, stand_in(getattr(place, name)))
        yield recorder
