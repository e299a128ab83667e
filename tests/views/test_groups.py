"""Groups as one array: records sorted group by group, whatever numbers hold them meanwhile."""

import numpy as np
import pytest

from dpquantiles.grid import UniformGrid
from dpquantiles.views import Groups


@pytest.mark.parametrize("points", [2**4, 2**28, 2**40, 2**62])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_records_are_sorted_by_group(points: int, count: int) -> None:
    """Also for no groups at all, and where groups and steps need 32, 64 or more bits."""
    rng, records = np.random.default_rng(points % 97), 50 * min(count, 1)
    grid = UniformGrid(0, points - 1, 1)
    codes, steps = rng.integers(0, max(count, 1), records), rng.integers(0, points, records)
    groups = Groups.of(grid, codes, steps, count)
    found = np.split(groups.steps, groups.ends[:-1]) if count else []
    assert len(groups) == count
    for code, members in enumerate(found):
        assert members.tolist() == sorted(steps[codes == code].tolist())
