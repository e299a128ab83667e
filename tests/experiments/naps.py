"""Runs that take a while and find little, to be cut off: python -m tests.experiments.naps ROWS."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from experiments import rows

COUNT = 60


@dataclass(frozen=True, kw_only=True)
class Nap:
    number: int
    seconds: float = 0.05


def runs() -> list[Nap]:
    return [Nap(number=number) for number in range(COUNT)]


def measure(shared: int, run: Nap) -> rows.Found:
    time.sleep(run.seconds)
    if run.number == shared:
        raise ValueError("no")
    return {"twice": 2 * run.number}


def main() -> None:
    path = Path(sys.argv[1])
    with rows.alone_in(path.parent):
        rows.collect(rows.missing(runs(), rows.read(path)), measure, path=path, shared=-1)


if __name__ == "__main__":
    main()
