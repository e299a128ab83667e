"""Real engines for the tests: a Spark session and a PostgreSQL server, started once."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dpquantiles.mechanisms import joint_exp_family
from dpquantiles.mechanisms.registry import Registration
from tests.passes import pass_once
from tests.workers import group_of

ALL_ENGINES = os.environ.get("DPQUANTILES_ALL_ENGINES") == "1"
"""Whether an engine that is not there is a failure: on a machine that checks every change."""

CONNECT = os.environ.get("DPQUANTILES_SPARK") == "connect"
"""Whether tests of Spark run with a client of Spark Connect: see `make test-spark`."""

in_the_jvm = pytest.mark.skipif(CONNECT, reason="clients of Spark Connect have no Java objects")
"""Marks tests that look at plans and settings inside Spark."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="keep what the code answers now")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers share nothing, so tests of the same engine belong to one of them, and come first.

    For groups of its own, xdist renames tests, which newer versions of pytest do not allow: every
    worker would start every engine.
    """
    from xdist.scheduler import LoadScopeScheduling

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that starts an engine, and would not be found by its name."""
    for item in items:
        needed = {"spark", "postgres"} & set(getattr(item, "fixturenames", ()))
        if needed and group_of(item.nodeid) != "engines":
            raise pytest.UsageError(f"{item.nodeid} needs a word of tests/workers.py in its name")


def unavailable(engine: str, why: str) -> NoReturn:
    """Skip the tests of an engine, or fail where all must run."""
    if ALL_ENGINES:
        pytest.fail(f"{engine} must be there: {why}")
    pytest.skip(f"{engine} is not there: {why}")


def require_library(engine: str, *libraries: str) -> None:
    for library in libraries:
        if find_spec(library) is None:
            unavailable(engine, f"no {library}")


@pytest.fixture
def rough_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans from few draws, for tests of all but their numbers, which `tests/planner` checks."""
    monkeypatch.setattr(Registration, "draws_for", lambda *_: 32)


@pytest.fixture
def shared_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes are computed once for all engines that hand over the same records."""
    monkeypatch.setattr(joint_exp_family, "log_shares", pass_once)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark session."""
    require_library("Spark", "pyspark", "pyarrow")
    if shutil.which("java") is None:
        unavailable("Spark", "no java")
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    start: Any = SparkSession.builder
    builder = start.remote("local[2]") if CONNECT else start.master("local[2]")
    for name, value in settings.items():
        if not CONNECT or name.startswith("spark.sql."):  # a client sets nothing of the server
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    if not CONNECT:
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Postgres:
    """A PostgreSQL server of our own on the loopback interface, and who may run it."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="dpquantiles-postgres-"))
        # The server refuses to run as root.
        self.user = "nobody" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.server: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        data, log = self.folder / "data", subprocess.DEVNULL
        create = ["-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        quiet: dict[str, Any] = {"stdout": log, "stderr": log, **self._as_user()}
        subprocess.run([str(self.programs / "initdb"), *map(str, create)], **quiet, check=True)
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", str(data), "-p", str(self.port), *flags]
        self.server = subprocess.Popen(command, **quiet)
        deadline = time.monotonic() + 60
        while not self._answers():
            if time.monotonic() > deadline:
                raise TimeoutError("PostgreSQL did not start")
            time.sleep(0.05)

    def _as_user(self) -> dict[str, Any]:
        return {"user": self.user, "cwd": self.folder} if self.user else {"cwd": self.folder}

    def _answers(self) -> bool:
        import psycopg

        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="test", dbname="postgres", autocommit=True
        )

    def ibis(self) -> Any:
        import ibis

        return ibis.postgres.connect(
            host="127.0.0.1", port=self.port, user="test", database="postgres"
        )

    def stop(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)  # at once, whoever is still connected
            self.server.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)


def _postgres_programs() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path and Path(on_path).with_name("postgres").exists():
        return Path(on_path).resolve().parent
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return packaged[-1].parent if packaged else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server on a free loopback port."""
    require_library("PostgreSQL", "ibis", "psycopg")
    programs = _postgres_programs()
    if programs is None:
        unavailable("PostgreSQL", "no initdb")
    server = Postgres(programs)
    try:
        server.start()
        yield server
    finally:
        server.stop()
