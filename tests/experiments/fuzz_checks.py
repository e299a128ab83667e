"""Checks in place of the fuzzer's own, for its workers: they hang, die, grow or fail on demand."""

import os
import time

from experiments.fuzz.check import RELEASED, Report


def naps(number: int) -> Report:
    """Case 3 hangs, 5 dies, 7 raises, 9 finds something; all others are well."""
    if number == 3:
        time.sleep(600)
    if number == 5:
        os._exit(1)
    if number == 7:
        raise ArithmeticError("in the check itself")
    return Report(number, f"Case {number}", RELEASED, ("bad",) if number == 9 else ())


def finds(number: int) -> Report:
    """A case with a finding."""
    return Report(number, f"Case {number}", RELEASED, ("something",))


def grows(number: int) -> Report:
    """A case that takes memory."""
    held = bytearray(300 * 2**20)
    held[:: 2**12] = b"x" * len(held[:: 2**12])
    return Report(number, f"Case {number}", RELEASED)
