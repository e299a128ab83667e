"""A fork waits for the imports that other threads have begun, which its child could not finish.

Python locks a module while it loads. A child that is born in the middle inherits the lock, but not
the thread that would release it, and would wait forever as soon as it needs the module.
"""

import importlib
import os
import sys
import threading
from contextlib import suppress

LOCKS = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
"""Weak references to the locks of modules that are loading, by name. They are CPython's own: there
is no public way to ask what other threads are loading."""


def wait_for_imports() -> None:
    """From now on, forks of this process wait until no other thread is loading a module."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_finish_imports)


def _finish_imports() -> None:
    while names := _loading_elsewhere():
        for name in names:
            with suppress(Exception):  # what fails to load is for the other thread to report
                importlib.import_module(name)


def _loading_elsewhere() -> list[str]:
    locks = [(name, reference()) for name, reference in list(LOCKS.items())]
    here = (None, threading.get_ident())
    return [name for name, lock in locks if getattr(lock, "owner", None) not in here]
