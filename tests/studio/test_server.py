"""The server as people start it: its sentences, its limits, and several of them on one ledger."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

import httpx2
import pytest

from dpquantiles.cli import main
from dpquantiles.ledger import Ledger
from dpquantiles.studio import server
from dpquantiles.studio.server import MOST_CONNECTIONS
from dpquantiles.studio.shelf import Shelf
from dpquantiles.studio.studio import Studio
from tests.cli.conftest import Command, run  # noqa: F401
from tests.studio.conftest import ASKED
from tests.studio.served import COMMAND, Served, begin, children, is_running, served

Browser = Callable[[Served], httpx2.Client]


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Browsers that came by the printed address."""
    with ExitStack() as opened:

        def come(studio: Served) -> httpx2.Client:
            client = opened.enter_context(httpx2.Client(base_url=studio.base, timeout=60))
            assert client.get(studio.address.removeprefix(studio.base)).status_code == 303
            return client

        yield come


def press(client: httpx2.Client, studio: Served, request: str, epsilon: str = "0.1") -> int:
    form = {**asdict(replace(ASKED, epsilon=epsilon)), "request": request}
    return client.post("/release", data=form, headers={"origin": studio.base}).status_code


def released(client: httpx2.Client, request: str) -> str:
    for _ in range(400):
        answer = client.get(f"/download/json/{request}")
        if answer.status_code == 200:
            return answer.text
        time.sleep(0.05)
    raise AssertionError(client.get(f"/release/{request}").text)


def test_a_folder_that_is_not_there(run: Command, tmp_path: Path) -> None:  # noqa: F811
    done = run("studio", tmp_path / "nowhere", "--no-browser")
    assert (done.code, done.out) == (2, "")
    assert "no such folder or file" in done.err
    done = run("studio", tmp_path, "--ledger", tmp_path / "no.db", "--no-browser")
    assert done.code == 2
    assert "no.db" in done.err


def test_a_port_that_is_in_use_or_none(run: Command, tmp_path: Path) -> None:  # noqa: F811
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = run("studio", tmp_path, "--port", port, "--no-browser")
    assert (done.code, done.out) == (2, "")
    assert f"cannot listen on 127.0.0.1, port {port}" in done.err
    assert "--port 0" in done.err
    assert run("studio", "--port", "70000").code == 2


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_without_its_libraries_the_extra_is_named(library: str) -> None:
    code = (
        f"import sys\nsys.modules[{library!r}] = None\n"
        "from dpquantiles.cli import main\nsys.exit(main(['studio']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'dpquantiles[studio]'" in done.stderr


def test_the_command_line_loads_no_server() -> None:
    code = (
        "import sys\nfrom dpquantiles.cli import main\nmain(['mechanisms'])\n"
        "assert not {'starlette', 'uvicorn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_it_listens_on_this_computer_alone(folder: Path) -> None:
    with served(folder) as studio:
        assert studio.base.startswith("http://127.0.0.1:")
        with closing(socket.socket()) as outside:
            outside.settimeout(2)
            assert outside.connect_ex(("127.0.0.2", studio.port)) != 0
    assert studio.process.returncode == 0


def test_ctrl_c_ends_it_and_its_children(folder: Path, browser: Browser) -> None:
    with served(folder) as studio:
        browser(studio).get("/plan/answer?records=1000&q=median")
        started = children(studio.process.pid)
        assert started
        studio.process.send_signal(signal.SIGINT)
        studio.process.wait(10)
    assert studio.process.returncode == 0
    assert ends(lambda: not any(map(is_running, started)))


def ends(is_over: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether something is over in time."""
    deadline = time.monotonic() + seconds
    while not is_over() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_over()


def test_many_connections_at_once_are_bounded(folder: Path, books: Path, browser: Browser) -> None:
    with served(folder, books) as studio:
        client = browser(studio)
        assert press(client, studio, "r1") == 303
        first = released(client, "r1")
        silent = [socket.create_connection(("127.0.0.1", studio.port)) for _ in range(200)]
        time.sleep(0.5)
        refused = 0
        for one in silent:
            one.setblocking(False)
            try:
                refused += one.recv(1) == b""
            except BlockingIOError:
                pass
            except ConnectionResetError:
                refused += 1
        assert refused >= 200 - MOST_CONNECTIONS
        for one in silent:
            one.close()
        time.sleep(0.2)
        assert client.get("/download/json/r1").text == first
        assert len(Ledger(books)) == 3


def test_many_presses_at_once_charge_once(folder: Path, books: Path, browser: Browser) -> None:
    with served(folder, books) as studio:
        cookies = browser(studio).cookies
        codes: list[int] = []

        def one() -> None:
            try:
                with httpx2.Client(base_url=studio.base, cookies=cookies, timeout=60) as client:
                    codes.append(press(client, studio, "r1"))
            except httpx2.TransportError:
                codes.append(0)

        threads = [threading.Thread(target=one) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(codes) <= {303, 409, 503, 0}
        assert 303 in codes
        with httpx2.Client(base_url=studio.base, cookies=cookies, timeout=60) as client:
            time.sleep(1)
            released(client, "r1")
        actions = [entry.content["action"] for entry in Ledger(books).entries()]
        assert actions == ["budget", "charge", "release"]


@pytest.fixture
def impatient(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server in this process, which closes silent connections soon."""
    monkeypatch.setattr(server, "LONGEST_SILENCE", 0.3)
    listener, ready = server.listening("127.0.0.1", 0), threading.Event()
    made: list[server._Server] = []
    original = server._Server.__init__

    def noted(self: server._Server, *arguments: object) -> None:
        original(self, *arguments)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(server._Server, "__init__", noted)
    told = (Studio(Shelf(folder)), listener, lambda _: ready.set())
    thread = threading.Thread(target=server.serve, args=told)
    thread.start()
    try:
        assert ready.wait(10)
        yield listener.getsockname()[1]
    finally:
        made[0].should_exit = True
        thread.join(10)


HEAD = b"GET / HTTP/1.1\r\nHost: 127."
BODY = b"POST /release HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n"
WHOLE = b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n"


@pytest.mark.parametrize("drop", [b"", b"1"], ids=["silent", "slow"])
@pytest.mark.parametrize("first", [b"", HEAD, BODY, WHOLE + HEAD], ids=range(4))
def test_a_connection_that_never_finishes_is_closed(
    impatient: int, first: bytes, drop: bytes
) -> None:
    """Neither silence nor a byte from time to time keeps a place."""
    with closing(socket.create_connection(("127.0.0.1", impatient))) as slow:
        slow.settimeout(0.1)
        slow.sendall(first.replace(b"%s", b"127.0.0.1:%d" % impatient))
        assert ends(lambda: is_closed(slow, drop), 5)


def is_closed(connection: socket.socket, drop: bytes) -> bool:
    try:
        connection.sendall(drop)
        return connection.recv(4096) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_two_studios_and_a_command_share_one_ledger(
    folder: Path, books: Path, browser: Browser
) -> None:
    with served(folder, books) as one, served(folder, books) as other:
        clients = [browser(one), browser(other)]
        failures: list[str] = []

        def work(client: httpx2.Client, studio: Served, name: str) -> None:
            try:
                for k in range(4):
                    request = f"shared {k}" if k % 2 else f"{name} {k}"
                    while press(client, studio, request, "0.1") == 409:
                        time.sleep(0.05)
                    while "is being run by another" in client.get(f"/release/{request}").text:
                        press(client, studio, request, "0.1")
                        time.sleep(0.1)
                    released(client, request)
            except Exception as error:
                failures.append(repr(error))

        threads = [
            threading.Thread(target=work, args=(clients[0], one, "one")),
            threading.Thread(target=work, args=(clients[1], other, "other")),
        ]
        for thread in threads:
            thread.start()
        options = ["-c", "age", "--type", "int", "-q", "median", "-e", "0.1", "--ledger", books]
        for k in range(3):
            asked = ["release", folder / "people.csv", *options, "--dataset", "people"]
            assert main([*map(str, asked), "--request-id", f"line {k}", "--quiet"]) == 0
        for thread in threads:
            thread.join()
        assert failures == []
        shared = {client.get("/download/json/shared 1").text for client in clients}
        assert len(shared) == 1
    ledger = Ledger(books)
    ledger.verify()
    (standing,) = ledger.accounts().values()
    assert standing.charges == 2 + 2 + 2 + 3  # of each studio alone, of both, of the command
    assert standing.remaining == pytest.approx(3 - 0.9)


def test_a_killed_studio_loses_nothing_that_was_charged(
    folder: Path, books: Path, browser: Browser
) -> None:
    for k in range(3):
        studio = begin(folder, "--ledger", books)
        client = browser(studio)
        assert press(client, studio, f"r{k}", "0.5") == 303
        time.sleep(0.05 * k)
        studio.kill()
    with served(folder, books) as later:
        client = browser(later)
        charged = [e.content for e in Ledger(books).entries() if "cost" in e.content]
        for k, content in enumerate(charged):
            request = content["request"]
            assert press(client, later, request, "0.5") == 303
            assert released(client, request), k
        ledger = Ledger(books)
        ledger.verify()
        again = [entry.content for entry in ledger.entries() if "cost" in entry.content]
        assert again == charged


def test_the_command_says_what_it_opens() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    for word in ("FOLDER", "--ledger", "--port", "--host", "--no-browser"):
        assert word in done.stdout
