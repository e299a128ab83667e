"""Grids: public monotone maps between values and the integers 0 .. size-1, called steps.

`encode` clamps each record and rounds it to the nearest grid point. It maps each record by itself,
so it costs no privacy, and it never raises. `decode` maps steps back to values of the grid's type.
It is exact: `encode(decode(i)) == i` for every step i.
"""

from dpquantiles.grid.families import family_of
from dpquantiles.grid.family import GridFamily, decimal_base, finest
from dpquantiles.grid.floating import FloatGrid
from dpquantiles.grid.member import Multiples, Singles
from dpquantiles.grid.protocol import Grid
from dpquantiles.grid.ruler import EveryStep, Ruler, ruler_of
from dpquantiles.grid.typed import (
    TypedGrid,
    default_grid,
    precision,
    precision_notes,
    require_grid,
)
from dpquantiles.grid.uniform import FINEST, MOST_STEPS, UniformGrid, decimal, nearest

__all__ = [
    "FINEST",
    "MOST_STEPS",
    "EveryStep",
    "FloatGrid",
    "Grid",
    "GridFamily",
    "Multiples",
    "Ruler",
    "Singles",
    "TypedGrid",
    "UniformGrid",
    "decimal",
    "decimal_base",
    "default_grid",
    "family_of",
    "finest",
    "nearest",
    "precision",
    "precision_notes",
    "require_grid",
    "ruler_of",
]
