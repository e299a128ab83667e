"""A fork while another thread makes a release leaves no lock behind that nobody will open.

Python locks a module while it loads. A child process that is forked in the middle inherits the
lock, but not the thread that would release it. It would wait forever as soon as it needs the
module. So a fork waits until other threads have finished their imports.

A module may itself wait for the fork, for example if it runs a program while it loads. So a fork
waits for a module only for a limited time, and only once.

Python 3.11 also locks a cached property while its value is computed, for all objects of a class.
Nothing here needs that lock: values are the same whoever computes them.
"""

import functools
import os
import sys
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

LOCKS = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
"""Weak references to the locks of modules that are loading, by name. They are internal to CPython,
because there is no public way to ask what other threads are loading."""

PATIENCE, PAUSE = 10.0, 0.001
"""The seconds that a fork waits at most, and the seconds between two looks."""

waited_for: set[str] = set()
"""Modules that did not finish in time; later forks do not wait for them."""


def wait_for_imports() -> None:
    """From now on, forks of this process wait until no other thread is loading a module."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_await_imports)


def _await_imports() -> None:
    deadline = time.monotonic() + PATIENCE
    while names := _loading_elsewhere() - waited_for:
        if time.monotonic() > deadline:
            waited_for.update(names)
        time.sleep(PAUSE)


def _loading_elsewhere() -> set[str]:
    locks = [(name, reference()) for name, reference in list(LOCKS.items())]
    here = (None, threading.get_ident())
    return {name for name, lock in locks if getattr(lock, "owner", None) not in here}


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """A cached property without a lock, as in later versions of Python."""

        def __init__(self, compute: Any) -> None:
            super().__init__(compute)
            self.lock = nullcontext()
