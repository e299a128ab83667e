"""The grid that public parameters state, for a column of which nothing else is known."""

from typing import Any

from dpquantiles import require
from dpquantiles.errors import InvalidType, InvalidValue
from dpquantiles.grid.floating import FloatGrid
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.uniform import UniformGrid, places_of
from dpquantiles.kinds import INT64, DecimalUnits, Kind


def require_grid(grid: object, bounds: object, resolution: object) -> Grid:
    """A grid that is given in place of bounds and resolution."""
    if not isinstance(grid, Grid):
        raise InvalidType(
            "grid must be a grid, such as UniformGrid(0, 100) or FloatGrid(), "
            f"got {require.shown(grid)}"
        )
    if bounds is not None or resolution is not None:
        raise InvalidValue("grid must stand alone, got bounds or resolution beside it")
    return grid


def default_grid(kind: Kind, bounds: tuple[Any, Any] | None = None, resolution: Any = None) -> Grid:
    """The grid of a column of which only the type is known, and perhaps bounds and resolution."""
    if isinstance(kind, DecimalUnits) and resolution is not None:
        kind = DecimalUnits(places_of(resolution))
    bounds = bounds or kind.limits
    if bounds:
        return UniformGrid(*bounds, resolution, kind, step_name="resolution")
    if resolution is not None and not (kind.integral and kind.step(resolution, "resolution") == 1):
        raise InvalidValue(
            f"resolution needs bounds to count from, got resolution={resolution!r} without bounds"
        )
    if not kind.integral:
        return FloatGrid(kind=kind)
    return FloatGrid(kind.value(INT64.min), kind.value(INT64.max), kind=kind)
