"""How long a release takes, as ratios to contenders that ran in turn with it on the same data.

    python -m benchmarks.speed [--quick] [--only PART ...] [--output build/bench/speed.json]
    python -m benchmarks.speed --draw docs/images/time.svg [--output build/bench/speed.json]

Eight parts: the default call over `numpy.quantile`, with bounds ("bounds") and without ("open");
JointExp over `numpy.quantile` ("numpy"); JointExp over the paper's algorithm line by line
with the library routines that it names ("paper"), with a few lines of NumPy in their place
("lean"), and with everything a careful reader can add ("tuned"); the work after selection at a
million records over the same at a hundred thousand; and the peak of extra memory over the size of
the input. Seconds differ between machines and ratios much less, so the targets are ratios; a missed
target is reported, and the exit code stays 0.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpquantiles as dpq
from benchmarks import paper_plain, paper_tuned
from dpquantiles.privacy import PureDP
from dpquantiles.views import WindowView

Floats = NDArray[np.float64]
Call = Callable[[], object]

EPSILON = 1.0
BOUNDS = (-100.0, 100.0)
STEP = 2.0**-30
SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
QUICK_SIZES = (10**3, 10**5)
COUNTS = (1, 9, 30)
AFTER_SIZES = (10**5, 10**6)
DEFAULT_COUNTS = (1, 9, 30, 99, 255, 1000)
LIMITS = {"bounds": BOUNDS, "open": None}
"""The bounds of the default call, by part."""

PARTS = ("bounds", "open", "numpy", "paper", "lean", "tuned", "after", "memory")
OPPONENTS: dict[str, tuple[Callable[..., Floats], Callable[[int, int], int]]] = {
    "paper": (paper_plain.quantiles, paper_plain.estimated_bytes),
    "lean": (
        partial(paper_plain.quantiles, routines=paper_plain.LEAN),
        paper_plain.estimated_bytes,
    ),
    "tuned": (paper_tuned.quantiles, paper_tuned.estimated_bytes),
}
LARGEST = {"paper": 10**5, "lean": 10**5, "tuned": 10**6}
"""An opponent is left out beyond these sizes, where it takes minutes."""

PAPER_BYTES = 8 * 10**9
"""Cells in which the paper's algorithm would need more memory than this are left out."""

FEWEST_ROUNDS = 2
MOST_ROUNDS = 200


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell: the two quantities of a ratio, in seconds, or in bytes for the part "memory"."""

    part: str
    n: int
    m: int
    ours: float | None = None
    theirs: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; below one is a win. None for a cell that was left out."""
        if self.ours is None or self.theirs is None:
            return None
        return self.ours / self.theirs


@dataclass(frozen=True, kw_only=True)
class Target:
    """The largest ratio that we are content with in one cell."""

    part: str
    n: int
    m: int
    limit: float

    def verdict(self, rows: list[Row]) -> str:
        """One line: what was wanted, what was measured, and whether that will do."""
        wanted = f"{self.part} n={self.n:.0e} m={self.m}: at most {self.limit:g}"
        cell = (self.part, self.n, self.m)
        ratio = next((row.ratio for row in rows if (row.part, row.n, row.m) == cell), None)
        if ratio is None:
            return f"  ..    {wanted}, not measured"
        return f"  {'pass' if ratio <= self.limit else 'MISS'}  {wanted}, measured {ratio:.3g}"


TARGETS = (
    *(
        Target(part=part, n=n, m=m, limit=1.0)
        for part in LIMITS
        for n in (10**6, 10**7)
        for m in DEFAULT_COUNTS
    ),
    *(Target(part="numpy", n=10**7, m=m, limit=1.5) for m in (9, 30)),
    *(Target(part="numpy", n=10**6, m=m, limit=2.0) for m in (9, 30)),
    *(Target(part="memory", n=n, m=m, limit=2.0) for n in (10**6, 10**7) for m in COUNTS),
    *(Target(part="after", n=10**6, m=m, limit=1.25) for m in COUNTS),
    *(Target(part=part, n=10**3, m=9, limit=0.5) for part in ("paper", "lean")),
    *(Target(part=part, n=10**5, m=30, limit=0.02) for part in ("paper", "lean")),
)


def main() -> None:
    """Measure, show the table and the targets, and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few cells, a second each")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts")
    parser.add_argument("--output", type=Path, default=Path("build/bench/speed.json"))
    parser.add_argument("--draw", type=Path, help="draw what was kept, and measure nothing")
    options = parser.parse_args()
    if options.draw:
        from benchmarks import figure

        figure.draw_time(json.loads(options.output.read_text("utf-8"))["rows"], options.draw)
        return
    rows = []
    for row in measure(quick=options.quick, parts=options.only):
        rows.append(row)
        print(f"done {len(rows)}: {row.part} n={row.n} m={row.m}", file=sys.stderr, flush=True)
    print(table(rows))
    print("\ntargets")
    print("\n".join(target.verdict(rows) for target in TARGETS))
    kept = {"machine": machine(), "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def measure(*, quick: bool, parts: Sequence[str]) -> Iterator[Row]:
    """All rows of some parts, one by one as they are ready."""
    seconds = 1.0 if quick else 6.0
    for n in QUICK_SIZES if quick else SIZES:
        values = normal_data(n)
        for part in LIMITS:
            for m in DEFAULT_COUNTS if part in parts else ():
                yield default_row(part, values, m, seconds)
        for m in COUNTS:
            if "numpy" in parts:
                yield numpy_row(values, m, seconds)
            for part in OPPONENTS:
                if part in parts:
                    yield paper_row(part, values, m, seconds)
            if "memory" in parts:
                yield memory_row(values, m)
    for m in COUNTS if "after" in parts else ():
        yield after_row(m, seconds)


def normal_data(n: int) -> Floats:
    """The paper's synthetic data: normal around 0 with a standard deviation of 5."""
    return np.random.default_rng(n).normal(0.0, 5.0, n)


def even_quantiles(m: int) -> list[float]:
    """The m quantiles that cut a distribution into equal parts."""
    return [k / (m + 1) for k in range(1, m + 1)]


def private_call(values: Floats, m: int) -> Call:
    """A release by JointExp as a user would ask for it, with the system's random bits."""
    q = even_quantiles(m)
    return lambda: dpq.quantiles(values, q, epsilon=EPSILON, bounds=BOUNDS, mechanism="joint_exp")


def default_row(part: str, values: Floats, m: int, seconds: float) -> Row:
    """The call that names no mechanism over the exact quantiles that NumPy computes."""
    q, bounds = even_quantiles(m), LIMITS[part]
    ours, theirs = in_turn(
        lambda: dpq.quantiles(values, q, epsilon=EPSILON, bounds=bounds),
        lambda: np.quantile(values, q),
        seconds=seconds,
    )
    return Row(part=part, n=values.size, m=m, ours=ours, theirs=theirs)


def numpy_row(values: Floats, m: int, seconds: float) -> Row:
    """A release over the exact quantiles that NumPy computes without privacy."""
    q = even_quantiles(m)
    ours, theirs = in_turn(private_call(values, m), lambda: np.quantile(values, q), seconds=seconds)
    return Row(part="numpy", n=values.size, m=m, ours=ours, theirs=theirs)


def paper_row(part: str, values: Floats, m: int, seconds: float) -> Row:
    """A release over the paper's algorithm, unless that would take minutes or too much memory."""
    (quantiles, estimated_bytes), n = OPPONENTS[part], values.size
    size = estimated_bytes(n, m)
    if n > LARGEST[part] or size > PAPER_BYTES:
        note = f"left out: would take minutes, and {size / 1e9:.1f} GB"
        return Row(part=part, n=n, m=m, note=note)
    q, rng = even_quantiles(m), np.random.default_rng(1)
    ours, theirs = in_turn(
        private_call(values, m),
        lambda: quantiles(values, q, EPSILON, BOUNDS, rng),
        seconds=seconds,
    )
    return Row(part=part, n=n, m=m, ours=ours, theirs=theirs)


def memory_row(values: Floats, m: int) -> Row:
    """The peak of what a release allocates, in the same unit as the input: bytes."""
    call = private_call(values, m)
    call()
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Row(part="memory", n=values.size, m=m, ours=peak, theirs=values.nbytes)


def after_row(m: int, seconds: float) -> Row:
    """Law and draw on the selected ranks of many records over the same on fewer: about one."""
    fewer, more = (after_selection(n, m) for n in AFTER_SIZES)
    ours, theirs = in_turn(more, fewer, seconds=seconds)
    return Row(part="after", n=AFTER_SIZES[1], m=m, ours=ours, theirs=theirs)


def after_selection(n: int, m: int) -> Call:
    """What remains to be done once the ranks that the mechanism demands are at hand."""
    mechanism = dpq.JointExp(q=tuple(even_quantiles(m)), budget=PureDP(epsilon=EPSILON))
    grid = dpq.UniformGrid(*BOUNDS, STEP)
    whole = dpq.ArrayView(normal_data(n), grid)
    view, bits = WindowView.of(whole, mechanism.demand(n, grid)), random.SystemRandom()
    return lambda: mechanism.law(view).draw(bits)


def in_turn(ours: Call, theirs: Call, *, seconds: float) -> tuple[float, float]:
    """Best processor time of each, called in turn so that both meet the same machine."""
    best = [float("inf"), float("inf")]
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < FEWEST_ROUNDS or (rounds < MOST_ROUNDS and time.perf_counter() < end):
        for which, call in enumerate((ours, theirs)):
            start = time.process_time()
            call()
            best[which] = min(best[which], time.process_time() - start)
        rounds += 1
    return best[0], best[1]


def table(rows: list[Row]) -> str:
    """The rows as text, part by part."""
    lines = [f"{'part':8}{'n':>10}{'m':>6}{'ours':>12}{'theirs':>12}{'ratio':>9}"]
    for row in sorted(rows, key=lambda row: PARTS.index(row.part)):
        head = f"{row.part:8}{row.n:>10}{row.m:>6}"
        if row.ours is None or row.theirs is None or row.ratio is None:
            lines.append(f"{head}  {row.note}")
        else:
            show = megabytes if row.part == "memory" else duration
            lines.append(f"{head}{show(row.ours):>12}{show(row.theirs):>12}{row.ratio:>9.3g}")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """A time, for the table."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def megabytes(size: float) -> str:
    """An amount of memory, for the table."""
    return f"{size / 1e6:.3g} MB"


def machine() -> dict[str, object]:
    """What the seconds depend on, without anything that names the machine."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
    }


def cpu_model() -> str:
    """The processor's own name where Linux tells it, else the architecture."""
    source = Path("/proc/cpuinfo")
    lines = source.read_text(encoding="utf-8").splitlines() if source.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


if __name__ == "__main__":
    main()
