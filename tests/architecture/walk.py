"""The walk of one call: which files of the package it enters before the forward pass.

`python -m tests.architecture.walk` prints the walks of `deciles(series, epsilon=1)` and of a
release by group on the command line, charged to a ledger. Modules are imported and data prepared
before.
"""

import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import dpquantiles as dpq
from dpquantiles.cli import main

PACKAGE = f"{Path(dpq.__file__).parent}/"
FORWARD = (
    "kernels/joint.py:forward",
    "kernels/many_forward.py:forward",
    "kernels/ranges.py:forward",
)


@dataclass
class Walk:
    """Files in the order in which they are entered first, and how often each function is called."""

    files: list[str] = field(default_factory=list)
    switches: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    arrived: bool = False
    _last: str = ""

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """Take down a call; a listener for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        file = code.co_filename.removeprefix(PACKAGE)
        self.calls[f"{file}:{code.co_qualname}"] += 1
        self.arrived = self.arrived or f"{file}:{code.co_name}" in FORWARD
        if not self.arrived and file != self._last:
            self.switches += 1
            self._last = file
            if file not in self.files:
                self.files.append(file)


def walk(call: Callable[[], object]) -> Walk:
    """Follow a call, and the threads that it starts."""
    seen = Walk()
    threading.setprofile(seen.see)
    sys.setprofile(seen.see)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def of_deciles() -> Walk:
    """Deciles of a series; the first call imports what the second one walks."""
    series = pd.Series(np.random.default_rng(0).normal(size=1000))
    dpq.deciles(series, epsilon=2)
    return walk(lambda: dpq.deciles(series, epsilon=1))


def of_groups(folder: Path) -> Walk:
    """A release by group on the command line, charged to a ledger."""
    table = {"value": np.arange(3000.0) % 97, "group": np.arange(3000) % 3}
    pd.DataFrame(table).to_parquet(folder / "table.parquet")
    dpq.Ledger(folder / "budget.db", epsilon=10)
    where = [str(folder / "table.parquet"), "--ledger", str(folder / "budget.db"), "--dataset", "x"]
    what = ["-c", "value", "-q", "deciles", "--by", "group", "--keys", "0,1,2", "--format", "csv"]

    def release(epsilon: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            main(["release", *where, *what, "-e", epsilon])

    release("2")
    return walk(lambda: release("1"))


def _show(title: str, seen: Walk) -> None:
    print(f"{title}: {len(seen.files)} files, {seen.switches} switches before the forward pass")
    print("   " + "\n   ".join(seen.files))


if __name__ == "__main__":
    _show("deciles(series, epsilon=1)", of_deciles())
    with tempfile.TemporaryDirectory() as name:
        _show("release --by --keys --ledger", of_groups(Path(name)))
