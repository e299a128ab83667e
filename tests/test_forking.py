"""A process may fork while another thread makes its first release."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpquantiles as dpq

if not hasattr(os, "fork"):
    pytest.skip("no fork", allow_module_level=True)

SLOW_FIRST_RELEASE = """
import os, signal, sys, threading, time, warnings
import numpy as np
import {library}
import dpquantiles as dpq

begun = threading.Event()

class Slow:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            begun.set()
            time.sleep(0.5)

sys.meta_path.insert(0, Slow())
data = {data}
thread = threading.Thread(target=lambda: dpq.deciles(data, epsilon=1))
thread.start()
assert begun.wait(10), "the module was loaded before the first release"
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
child = os.fork()
if child == 0:
    signal.alarm(10)  # a child that hangs is ended by this signal
    dpq.deciles(data, epsilon=1)
    os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(
    ("library", "module", "data"),
    [
        ("numpy", "importlib.resources._common", "np.arange(300.0)"),
        ("numpy", "dpquantiles.by_group", "np.arange(300.0)"),
        ("pandas", "narwhals.stable.v2", "pandas.Series(np.arange(300.0))"),
    ],
)
def test_a_child_does_not_wait_for_a_module_that_another_thread_was_loading(
    library: str, module: str, data: str
) -> None:
    code = SLOW_FIRST_RELEASE.format(library=library, module=module, data=data)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


FORK_WHILE_LOADING = """
import os, threading

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

for _ in range(2):
    thread = threading.Thread(target=fork, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the fork waits for a module that waits for the fork"
"""


def test_a_module_that_waits_for_a_fork_is_not_waited_for_forever(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORK_WHILE_LOADING)
    code = "from dpquantiles import forking; forking.PATIENCE = 0.2; import program"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    assert done.returncode == 0, done.stderr


FORK_WHILE_COMPUTING = """
import os, signal, sys, threading, warnings
from dpquantiles.forking import cached_property

begun, ended = threading.Event(), threading.Event()

class Records:
    def __init__(self, slow):
        self.slow = slow

    @cached_property
    def n(self):
        if self.slow:
            begun.set()
            ended.wait(20)
        return 7

thread = threading.Thread(target=lambda: Records(True).n)
thread.start()
assert begun.wait(10)
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
child = os.fork()
if child == 0:
    signal.alarm(5)  # a child that hangs is ended by this signal
    os._exit(Records(False).n)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
ended.set()
thread.join()
sys.exit(0 if status == 7 else 1)
"""


def test_a_child_does_not_wait_for_a_property_that_another_thread_was_computing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK_WHILE_COMPUTING], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_no_property_of_the_package_has_a_lock() -> None:
    """Python 3.11 has one in its own cached properties."""
    root = Path(dpq.__file__).parent
    texts = {path.name: path.read_text("utf-8") for path in root.rglob("*.py")}
    users = [name for name, text in texts.items() if "@cached_property" in text]
    assert users
    for name in users:
        assert "from dpquantiles.forking import cached_property" in texts[name], name
