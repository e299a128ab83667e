"""A crowd of processes that charge one ledger, and are killed at random points."""

import os
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpquantiles import PureDP, Release
from dpquantiles.errors import BudgetExceeded
from dpquantiles.ledger import Ledger
from dpquantiles.privacy import Guarantee

DATASET = "crowd"


def fork() -> int:
    """A child process; Python warns where threads of the test runner are alive."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


class Diary:
    """What the world outside the ledger saw; each line is written at once and survives a kill."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, event: str, request: str, value: int = 0) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{event} {request} {value}\n".encode())
        os.close(descriptor)

    def lines(self, event: str) -> list[tuple[str, int]]:
        rows = [line.split() for line in self.path.read_text().splitlines()]
        return [(request, int(value)) for kind, request, value in rows if kind == event]


def release(value: int) -> Release:
    """A release that holds one number."""
    return Release(
        values=(value,), q=(0.5,), guarantee=PureDP(epsilon=1), mechanism="joint_exp", type="int"
    )


def released(ledger: Ledger, cost: Guarantee, draw: Callable[[], Any], **charged: Any) -> Release:
    """What a ledger has recorded for a request, after it was drawn if it has not."""
    with ledger.charged(cost, **charged) as entry:
        recorded = entry.record(draw()) if entry.recorded is None else entry.recorded
    assert recorded == entry.recorded
    return Release.from_dict(recorded)


def work(ledger: Ledger, diary: Diary, slot: int, done: int, cost: PureDP) -> None:
    """Release until the budget is spent, going on where a killed process stopped."""
    bits = random.SystemRandom()
    while True:
        request = f"{slot}-{done}"

        def draw(request: str = request) -> Release:
            value = bits.getrandbits(60)
            diary.note("draw", request, value)
            return release(value)

        try:
            answer = released(ledger, cost, draw, dataset=DATASET, request_id=request)
        except BudgetExceeded:
            return
        diary.note("left", request, answer.value)
        done += 1


def run(path: Path, diary: Diary, *, cost: PureDP, processes: int, kills: int) -> int:
    """Keep `processes` at work until the budget is spent; kill some and start them again.

    Returns how many were killed. What went wrong in one of them is in the file `errors`.
    """
    rng = random.Random(1)
    alive: dict[int, int] = {}
    done = [0] * processes

    def start(slot: int) -> None:
        left = {request for request, _ in diary.lines("left")} if diary.path.exists() else set()
        while f"{slot}-{done[slot]}" in left:
            done[slot] += 1
        child = fork()
        if child == 0:
            try:
                work(Ledger(path), diary, slot, done[slot], cost)
            except BaseException as error:
                with (diary.path.with_name("errors")).open("a") as file:
                    traceback.print_exception(error, file=file)
            finally:
                os._exit(0)
        alive[child] = slot

    for slot in range(processes):
        start(slot)
    killed = 0
    while alive or killed < kills:
        if not alive:  # the budget is spent, but kills are left: others come and are refused
            start(rng.randrange(processes))
        if killed < kills:
            time.sleep(rng.uniform(0, 0.1))
            victim = rng.choice(list(alive))
            os.kill(victim, signal.SIGKILL)
            killed += 1
        ended, status = os.waitpid(-1, 0 if killed >= kills else os.WNOHANG)
        while ended:
            slot = alive.pop(ended)
            if os.WIFSIGNALED(status):
                start(slot)
            ended, status = os.waitpid(-1, os.WNOHANG) if alive else (0, 0)
    return killed
