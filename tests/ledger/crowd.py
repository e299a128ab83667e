"""A crowd of processes that charge one ledger, and are killed at random points."""

import os
import random
import signal
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from dpquantiles import PureDP, Release
from dpquantiles.errors import BudgetExceeded
from dpquantiles.ledger import Ledger

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
            answer = ledger.release(cost, draw, dataset=DATASET, request_id=request)
        except BudgetExceeded:
            return
        diary.note("left", request, answer.value)
        done += 1


class Outcome(NamedTuple):
    """How many processes were killed, and how many ended in another way than they should."""

    kills: int
    failures: int


def run(path: Path, diary: Diary, *, cost: PureDP, processes: int, kills: int) -> Outcome:
    """Keep `processes` at work until the budget is spent; kill some and start them again."""
    rng = random.Random(1)
    alive: dict[int, int] = {}
    done = [0] * processes

    def start(slot: int) -> None:
        left = {request for request, _ in diary.lines("left")} if diary.path.exists() else set()
        while f"{slot}-{done[slot]}" in left:
            done[slot] += 1
        child = fork()
        if child == 0:
            code = 1
            try:
                work(Ledger(path), diary, slot, done[slot], cost)
                code = 0
            finally:
                os._exit(code)
        alive[child] = slot

    for slot in range(processes):
        start(slot)
    killed = failures = 0
    while alive:
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
            failures += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
            ended, status = os.waitpid(-1, os.WNOHANG) if alive else (0, 0)
    return Outcome(killed, failures)
