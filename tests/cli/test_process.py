"""The command as a process: entry points, pipes, color, start."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpquantiles.version import __version__


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpquantiles", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def test_version_and_help() -> None:
    assert call("--version").stdout == f"dpquantiles {__version__}\n"
    shown = call()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(name in shown.stdout for name in ("release", "demo", "doctor", "--version"))
    assert "--epsilon" in call("release", "-h").stdout


def test_results_and_errors_go_their_ways(table: Path) -> None:
    good = call("release", table, "-c", "change", "-q", "median", "-e", "1")
    assert good.returncode == 0
    assert good.stdout.startswith("{")
    assert good.stderr.startswith("note: ")
    bad = call("release", table, "-c", "change", "-q", "median", "-e", "0")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "error: epsilon must be positive and finite, got 0.0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close differently there")
def test_a_closed_pipe_is_quiet(table: Path) -> None:
    command = f"'{sys.executable}' -m dpquantiles release '{table}' -c change -q median -e 9"
    piped = f"{command} --type int --bounds -180 1440 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 141)
    assert done.stderr.startswith("note: cells that are empty")
    assert done.stderr.count("\n") == 1


def on_a_terminal(*arguments: object) -> bytes:
    """What the command writes when a person reads it."""
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "dpquantiles", *map(str, arguments)]
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL) as process:
        os.close(follower)
        written = b"".join(_until_closed(leader))
    os.close(leader)
    assert process.returncode == 0
    return written


def _until_closed(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 4096)
        except OSError:  # how Linux says that the other end has closed
            return
        if not chunk:
            return
        yield chunk


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_color_on_a_terminal_unless_refused(
    table: Path, no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, setting in (("TERM", "xterm-256color"), ("PYTHONUTF8", "1"), ("NO_COLOR", no_color)):
        monkeypatch.setenv(name, setting)
    written = on_a_terminal("release", table, "-c", "change", "-q", "deciles", "-e", "1")
    assert "●".encode() in written
    assert (b"\x1b[36m" in written) is not bool(no_color)


def test_an_old_terminal_gets_the_picture_in_ascii(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = call("release", table, "-c", "change", "-q", "deciles", "-e", "9", "--format", "text")
    assert "---*" in done.stdout
    assert "?" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_in_the_middle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.csv")
    command = [sys.executable, "-m", "dpquantiles", "release", str(tmp_path / "slow.csv")]
    options = ["-c", "x", "-q", "median", "-e", "1"]
    # The file opens on this side once the command reads it: it is then past its start.
    with (
        subprocess.Popen([*command, *options], stderr=subprocess.PIPE) as process,
        (tmp_path / "slow.csv").open("w"),
    ):
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told.strip()) == (130, b"")


def test_the_library_starts_without_the_command_line() -> None:
    loaded = (
        "import sys, dpquantiles; print({'typer', 'rich', 'pandas', 'polars'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
