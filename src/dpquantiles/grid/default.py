"""The grid of a column of which only public parameters are known."""

from typing import Any

from dpquantiles.grid.floating import FloatGrid
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.uniform import UniformGrid, places_of
from dpquantiles.kinds import INT64, DecimalUnits, Kind


def default_grid(kind: Kind, bounds: tuple[Any, Any] | None = None, resolution: Any = None) -> Grid:
    """The grid of a column of which only the type is known, and perhaps bounds and resolution."""
    if isinstance(kind, DecimalUnits) and resolution is not None:
        kind = DecimalUnits(places_of(resolution))
    bounds = bounds or kind.limits
    if bounds:
        return UniformGrid(*bounds, resolution, kind, step_name="resolution")
    if resolution is not None and not (kind.integral and kind.step(resolution, "resolution") == 1):
        raise ValueError(
            f"resolution needs bounds to count from, got resolution={resolution!r} without bounds"
        )
    if not kind.integral:
        return FloatGrid(kind=kind)
    return FloatGrid(kind.value(INT64.min), kind.value(INT64.max), kind=kind)
