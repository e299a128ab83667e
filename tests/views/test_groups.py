"""Groups as one array: records sorted group by group, together or with their codes beside them."""

import numpy as np
import pytest

from dpquantiles.grid import UniformGrid
from dpquantiles.views import Groups, array


@pytest.mark.parametrize("points", [2**4, 2**28, 2**40, 2**62])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_records_are_sorted_by_group(
    points: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for no groups at all, in several chunks, and where one number cannot hold both."""
    monkeypatch.setattr(array, "CHUNK", 16)
    rng, records = np.random.default_rng(points % 97), 50 * min(count, 1)
    grid = UniformGrid(0, points - 1, 1)
    codes, steps = rng.integers(0, max(count, 1), records), rng.integers(0, points, records)
    groups = Groups.of(grid, codes, steps.copy(), count)
    found = np.split(groups.steps, groups.ends[:-1]) if count else []
    assert len(groups) == count
    for code, members in enumerate(found):
        assert members.tolist() == sorted(steps[codes == code].tolist())
