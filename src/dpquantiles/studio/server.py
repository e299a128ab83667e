"""The server: one socket on this computer, bounded connections, and a browser that opens it."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from dpquantiles.errors import InvalidValue
from dpquantiles.studio.app import application
from dpquantiles.studio.guard import TOKEN, own_hosts
from dpquantiles.studio.studio import Studio

LOOPBACK = "127.0.0.1"
PORT = 8317

MOST_CONNECTIONS = 64
"""The most connections at once; more are closed as they come."""

LONGEST_SILENCE = 10.0
"""Seconds between two looks at a connection; one that has asked for nothing since is closed."""


class BoundedProtocol(H11Protocol):
    """HTTP with a limit on connections, and on those that say nothing or never finish."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close a connection that is one too many; watch all others."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self.loop.call_later(LONGEST_SILENCE, self._watch, None)

    def _watch(self, last: RequestResponseCycle | None) -> None:
        """Close a connection whose last request is over, or still lacks a part of its body."""
        now = self.cycle
        waits = now is None or now.response_complete or now.more_body
        if self.transport.is_closing():
            return
        if now is last and waits:
            self.transport.abort()
        else:
            self.loop.call_later(LONGEST_SILENCE, self._watch, now)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an error says what to do if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(128)
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", None) or error
        raise InvalidValue(
            f"cannot listen on {host}, port {port}: {why}; choose another with --port, or use "
            "--port 0 for any free one"
        ) from None
    return opened


def serve(
    studio: Studio,
    listener: socket.socket,
    started: Callable[[str], Any] = webbrowser.open,
) -> None:
    """Answer requests until Ctrl-C; `started` gets the first address when the server is ready."""
    host, port = listener.getsockname()[:2]
    app = application(studio, own_hosts(host, port), f"dpquantiles-studio-{port}")
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=3,
    )
    server = _Server(config, lambda: started(address(studio, host, port)))
    with suppress(KeyboardInterrupt):
        try:
            server.run(sockets=[listener])
        finally:
            studio.estimates.close()


def address(studio: Studio, host: str, port: int) -> str:
    """An address with a token that works once."""
    shown = {"0.0.0.0": LOOPBACK, "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/?{TOKEN}={studio.keys.token()}"


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], Any]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        await asyncio.get_running_loop().run_in_executor(None, self._ready)
