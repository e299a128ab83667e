"""Rates of successes, with an interval for the true rate by the method of Wilson."""

from statistics import NormalDist


def score(killed: int, tried: int, level: float = 0.95) -> tuple[float, float, float]:
    """The share that was killed, and Wilson's interval for that of all mutants."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, extra = killed / tried, z**2 / tried
    center = (share + extra / 2) / (1 + extra)
    half = z / (1 + extra) * (share * (1 - share) / tried + extra / tried / 4) ** 0.5
    return share, center - half, center + half
