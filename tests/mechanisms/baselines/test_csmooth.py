"""CSmooth: its parameters, the price of its noise, an audit, its demand, degenerate data."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

import dpquantiles as dpq
from dpquantiles import privacy
from dpquantiles.grid import FloatGrid, Grid, UniformGrid, default_grid
from dpquantiles.kernels import smooth
from dpquantiles.kinds import REAL
from dpquantiles.mechanisms.baselines import csmooth
from dpquantiles.mechanisms.baselines.csmooth import CSmooth, Noise, shape, tuned_smoothness
from dpquantiles.privacy import ZCDP, PureDP, zcdp_delta
from dpquantiles.views import Demand, WindowView
from tests.mechanisms.mutation import check_caught
from tests.views.recording import RecordingView

Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
RHO = 0.5


def at_epsilon(epsilon: float, q: tuple[float, ...], **public: Any) -> CSmooth:
    """As the paper compares: epsilon^2 / 2, which an epsilon-DP mechanism would satisfy."""
    return CSmooth(q=q, budget=ZCDP(rho=epsilon**2 / 2), **public)


def price(noise: Noise) -> float:
    """rho of one answer, by equation (4)."""
    epsilon = noise.t / noise.sigma + math.exp(1.5 * noise.sigma**2 + noise.log_s)
    return epsilon**2 / 2


def log_density(z: Floats, sigma: float) -> Floats:
    """Of Laplace(1) exp(sigma N), as an integral over the normal factor, tails included."""
    y = np.linspace(-12.0, 30.0, 500)[:, None]
    parts = -0.5 * y**2 - sigma * y - np.abs(z) * np.exp(-sigma * y)
    return np.asarray(logsumexp(parts, axis=0) + math.log(42 / 499 / math.sqrt(8 * math.pi)))


def renyi_rhos(noise: Noise, orders: tuple[float, ...], stretch: float) -> list[float]:
    """Renyi divergence over order, of the noise against itself moved by S and stretched."""
    shift = math.exp(noise.log_s) * min(1.0, stretch)
    near = np.geomspace(1e-6, 1e6, 500)
    z = np.unique(np.concatenate([-near, [0.0], near, shift - near, [shift], shift + near]))
    p = log_density(z, noise.sigma)
    q = log_density((z - shift) / stretch, noise.sigma) - math.log(stretch)
    pieces = np.log((np.diff(z, append=z[-1]) + np.diff(z, prepend=z[0])) / 2)
    return [float(logsumexp(a * p + (1 - a) * q + pieces)) / (a - 1) / a for a in orders]


def check_renyi() -> None:
    """Equation (4) by numerical integration, several orders, both directions of stretching."""
    for t in (0.02, 0.2):
        noise = Noise.of(1.0, t)
        for stretch in (math.exp(-t), 1.0, math.exp(t)):
            assert max(renyi_rhos(noise, (1.01, 2.0, 5.0, 20.0), stretch)) <= RHO


def check_price() -> None:
    """What the answers cost together is rho."""
    for q in [(0.5,), (0.1, 0.5, 0.5, 0.9)]:
        mechanism = CSmooth(q=q, budget=ZCDP(rho=RHO))
        windows = mechanism._windows(1000, 2**20)
        assert sum(price(window.noise) for window in windows) == pytest.approx(RHO, rel=1e-9)


def check_audit() -> None:
    """Two data sets whose answer moves by all of S: no event tells them apart too well."""
    mechanism = at_epsilon(1.0, (0.5,), smoothness=1e-3)
    grid, bits, draws = UniformGrid(0, 2**20, 1), random.Random(3), 4_000
    views = [dpq.ArrayView([x], grid) for x in (0, 2**20)]
    low, high = ([mechanism.release(v, bits).value for _ in range(draws)] for v in views)
    cut = 2**18
    one, other = (sum(x <= cut for x in drawn) / draws for drawn in (low, high))
    slack = math.sqrt(math.log(1e4) / (2 * draws)) * (1 + math.exp(0.5))
    assert one - math.exp(0.5) * other - slack <= zcdp_delta(RHO, 0.5)


def check_window() -> None:
    """A window answers as the whole data do, and nothing outside the demand is asked for."""
    data = np.random.default_rng(2).normal(0, 5, 3000)
    whole = dpq.ArrayView(data, default_grid(REAL, (-100.0, 100.0)))
    mechanism = CSmooth(q=(0.9, 0.05, 0.5), budget=ZCDP(rho=RHO))
    demand, recording = mechanism.demand(whole.n, whole.grid), RecordingView(whole)
    reference = mechanism.release(recording, random.Random(4)).values
    assert recording.asked_index <= set(demand.index.tolist())
    assert len(demand.index) < whole.n
    assert not recording.asked_steps
    windowed = mechanism.release(WindowView.of(whole, demand), random.Random(4))
    assert windowed.values == reference


def check_noise_fit() -> None:
    """Draws of Z / s follow the distribution that (3) names."""
    noise, bits = Noise.of(1.0, 0.5), random.Random(9)
    drawn = np.array([noise.draw(bits) for _ in range(20_000)]) * math.exp(noise.log_s)
    assert stats.kstest(drawn, lambda z: cumulative(np.asarray(z), noise.sigma)).pvalue > 1e-3


def cumulative(z: Floats, sigma: float) -> Floats:
    return np.asarray(WEIGHTS @ stats.laplace.cdf(z * np.exp(-sigma * NODES)[:, None]))


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4])
def test_sigma_is_the_real_root(ratio: float) -> None:
    sigma = float(shape(ratio))
    assert sigma**3 == pytest.approx(ratio * sigma**2 + ratio / 5, rel=1e-9)
    roots = np.roots([5 / ratio, -5.0, 0.0, -1.0])
    assert sigma == pytest.approx(float(roots[np.abs(roots.imag) < 1e-9 * sigma].real[0]))


def test_sigma_minimizes_the_variance() -> None:
    """The root is where exp(5 sigma^2) / (epsilon - t / sigma)^2 is least."""
    best = float(shape(0.3))
    around = best * np.array([0.9, 0.99, 1.0, 1.01, 1.1])
    spread = np.exp(5 * around**2) / (1 - 0.3 / around) ** 2
    assert np.argmin(spread) == 2


def test_answers_together_cost_rho() -> None:
    check_price()


def test_noise_is_concentrated() -> None:
    check_renyi()
    (rho,) = renyi_rhos(Noise.of(1.0, 0.02), (1.01,), math.exp(0.02))
    assert rho > 0.5 * RHO


def test_noise_fits_its_distribution() -> None:
    check_noise_fit()


def test_audit_finds_no_more_than_is_stated() -> None:
    check_audit()


def test_a_window_is_enough() -> None:
    check_window()


def test_smooth_sensitivity_needs_no_more_than_its_window() -> None:
    """(2): the constant is far below what rounding shows, and beyond it nothing can win."""
    window = CSmooth(q=(0.5,), budget=ZCDP(rho=RHO))._window(0.5, 10**6, 2**38)
    assert 0 < window.least <= 1 / csmooth.FINENESS
    assert window.last - window.rank == window.rank - window.first < 1000


@pytest.mark.parametrize(
    ("epsilon", "depth", "low", "high"),
    [(1.0, 500, 0.13, 0.25), (1 / math.sqrt(3), 500, 0.08, 0.2), (0.186, 100, 0.05, 0.12)],
)
def test_tuned_smoothness_is_what_the_paper_found(
    epsilon: float, depth: int, low: float, high: float
) -> None:
    """The paper's figure shows about 0.13 for m = 3 and the median."""
    assert low <= tuned_smoothness(epsilon, depth) <= high


def test_tuned_smoothness_is_good_on_random_normal_records() -> None:
    """Tuned on ideal order statistics, it is nearly the best on random ones."""
    epsilon, center = 0.5, 200
    tried = epsilon * csmooth.TRIED

    def deviation(t: float, records: NDArray[np.int64]) -> float:
        noise = Noise.of(epsilon, t)
        spread = math.exp(noise.sigma**2 - noise.log_s)
        return smooth.smooth_sensitivity(records, center, t) * spread

    rng = np.random.default_rng(0)
    samples = [np.rint(2.0**30 * np.sort(rng.normal(100, 1, 1000))) for _ in range(5)]
    ends = [0], [200 * 2**30]
    padded = [np.concatenate([ends[0], x, ends[1]]).astype(np.int64) for x in samples]
    chosen = sum(deviation(tuned_smoothness(epsilon, center), x) for x in padded)
    assert chosen <= 1.1 * min(sum(deviation(t, x) for x in padded) for t in tried)


@pytest.mark.parametrize(("m", "reference"), [(1, 10.1), (3, 25.5), (9, 50.5)])
def test_errors_are_those_of_the_paper(m: int, reference: float) -> None:
    q = tuple(k / (m + 1) for k in range(1, m + 1))
    grid, errors = default_grid(REAL, (-100.0, 100.0)), []
    for seed in range(50):
        data = np.random.default_rng([seed, m]).normal(0, 5, 1000)
        values = at_epsilon(1.0, q).release(dpq.ArrayView(data, grid), random.Random(seed)).values
        below, through = (np.searchsorted(np.sort(data), values, side=s) for s in ("left", "right"))
        target = 1000 * np.array(q)
        errors.append(np.maximum(0, np.maximum(below - target, target - through)).mean())
    assert np.mean(errors) <= reference + 2 * np.std(errors) / math.sqrt(50)


@pytest.mark.parametrize("points", [1, 2, 5, 2**62])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("rho", [1e-12, 0.5, 1e6])
def test_any_data_are_answered(points: int, n: int, rho: float) -> None:
    grid = UniformGrid(0, max(points - 1, 1), 2 if points == 1 else 1)
    mechanism = CSmooth(q=(1.0, 0.5, 0.0, 0.5), budget=ZCDP(rho=rho))
    for data in ([0] * n, [points - 1] * n, list(range(n))):
        values = mechanism.release(dpq.ArrayView(data, grid), random.Random(1)).values
        assert values[2] <= values[1] <= values[3] <= values[0]
        assert all(0 <= value <= points - 1 for value in values)


def test_seeded_releases_repeat_and_promise_nothing() -> None:
    view = dpq.ArrayView([1, 2, 3, 50], UniformGrid(0, 100, 1))
    mechanism = CSmooth(q=(0.5,), budget=ZCDP(rho=1.0))
    one, other = (mechanism.release(view, random.Random(8)) for _ in range(2))
    assert one.values == other.values
    assert one.guarantee is None
    private = mechanism.release(view, random.SystemRandom()).guarantee
    assert private == ZCDP(rho=1.0, research_only=True)
    assert "research only" in str(private)


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="rho must be positive"):
        CSmooth(q=(0.5,), budget=ZCDP(rho=0))
    with pytest.raises(ValueError, match="must support neighbors 'add-remove'"):
        CSmooth(q=(0.5,), budget=privacy.budget(rho=1, neighbors="add-remove"))
    with pytest.raises(ValueError, match="smoothness must be at most 3, got 4"):
        CSmooth(q=(0.5,), budget=ZCDP(rho=1), smoothness=4)
    with pytest.raises(ValueError, match="must work with a budget of epsilon alone"):
        CSmooth(q=(0.5,), budget=PureDP(epsilon=1.0))
    with pytest.raises(ValueError, match="size must be left out"):
        CSmooth(q=(0.5,), budget=ZCDP(rho=1.0), size=5)
    assert CSmooth(q=(0.5,), budget=ZCDP(rho=1.0)) == CSmooth(q=(0.5,), budget=ZCDP(rho=1.0))


def test_bounds_are_needed() -> None:
    view, mechanism = dpq.ArrayView([1.0, 2.0], FloatGrid()), CSmooth(q=(0.5,), budget=ZCDP(rho=1))
    for ask in (
        lambda: mechanism.release(view, random.Random(1)),
        lambda: mechanism.demand(2, view.grid),
    ):
        with pytest.raises(ValueError, match=r"bounds must be given .* joint_exp and above_thres"):
            ask()


Patch = pytest.MonkeyPatch


def halve_the_noise(patch: Patch) -> None:
    original = Noise.draw
    patch.setattr(Noise, "draw", lambda self, bits: 0.5 * original(self, bits))


def halve_the_scale(patch: Patch) -> None:
    original = Noise.of

    def of(epsilon: float, t: float) -> Noise:
        noise = original(epsilon, t)
        return noise._replace(log_s=noise.log_s + math.log(2))

    patch.setattr(Noise, "of", of)


def spend_rho_on_each(patch: Patch) -> None:
    patch.setattr(CSmooth, "epsilon", property(lambda self: self.budget.noise_rate))


def forget_the_normal_factor(patch: Patch) -> None:
    patch.setattr(csmooth, "normal", lambda _: 0.0)


def shorten_the_demand(patch: Patch) -> None:
    original = CSmooth.demand

    def demand(mechanism: CSmooth, n: int, grid: Grid) -> Demand:
        return Demand(runs=tuple(run[:-1] for run in original(mechanism, n, grid)))

    patch.setattr(CSmooth, "demand", demand)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (halve_the_noise, check_audit),
        (halve_the_noise, check_noise_fit),
        (halve_the_scale, check_renyi),
        (halve_the_scale, check_price),
        (spend_rho_on_each, check_price),
        (forget_the_normal_factor, check_noise_fit),
        (shorten_the_demand, check_window),
    ],
)
def test_mutants_are_caught(
    mutate: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    check_caught(mutate, check, monkeypatch)
