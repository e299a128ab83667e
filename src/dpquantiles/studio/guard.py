"""The guard: who may ask the studio, how often and how much, and what browsers may do with it.

A page of another site can make a browser send requests to this computer. Such a request has another
Host (if the site's own name leads here), another Origin, or no cookie, and is refused before it is
looked at.
"""

import hmac
import secrets
import time
from collections import deque
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpquantiles.studio import html

LARGEST_BODY = 64 * 1024
LARGEST_ADDRESS = 32 * 1024
TOO_LARGE = f"A request may have at most {LARGEST_BODY:,} bytes."

MOST_AT_ONCE = 32
"""The most requests that are answered at the same time."""

MOST_REQUESTS, PERIOD = 400, 10.0
"""The most requests in so many seconds."""

HTTP_PORT = 80
"""The port that browsers leave out of the names of hosts."""

MOST_TOKENS = 8
TOKEN = "token"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

STRANGER = (
    "This page is open only to the browser that was started with it. Use the address that "
    "dpquantiles studio printed; it works once. From a page that is open, “Open in another "
    "browser” makes a new one."
)


class Keys:
    """Tokens, each of which works once, and the secret of the cookie that they are changed for."""

    def __init__(self) -> None:
        self._tokens: deque[str] = deque(maxlen=MOST_TOKENS)
        self.secret = secrets.token_urlsafe(32)

    def token(self) -> str:
        """A new token."""
        self._tokens.append(secrets.token_urlsafe(32))
        return self._tokens[-1]

    def use(self, given: str) -> bool:
        """Whether a token is one of ours; if so, it does not work again."""
        for token in list(self._tokens):
            if hmac.compare_digest(token.encode(), given.encode()):
                self._tokens.remove(token)
                return True
        return False

    def fits(self, cookie: str) -> bool:
        """Whether a cookie holds the secret."""
        return hmac.compare_digest(self.secret.encode(), cookie.encode())


class Guard:
    """An application around another one, which lets through what may pass."""

    def __init__(self, app: ASGIApp, keys: Keys, hosts: Iterable[str], cookie: str) -> None:
        self.app, self.keys, self.cookie = app, keys, cookie
        self.hosts = frozenset(host.lower() for host in hosts)
        self._running = 0
        self._times: deque[float] = deque(maxlen=MOST_REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        self._running += 1
        try:
            await self.app(scope, _limited(receive), _with_headers(send))
        finally:
            self._running -= 1

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that must not pass; None for one that may."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self.hosts:
            return _refused(421, "The studio does not answer to this host name.")
        if not self._is_own(scope, headers):
            return _refused(403, "The request comes from another site.")
        if len(scope["query_string"]) + len(scope["path"]) > LARGEST_ADDRESS:
            return _refused(414, "The address is too long.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return _refused(413, TOO_LARGE)
        stranger = self._stranger(scope, headers)  # before the count, which is that of the others
        if stranger is None and self._is_crowded():
            return _refused(503, "There are too many requests; try again in a moment.")
        return stranger

    def _is_own(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request comes from a page of the studio, or from the address bar."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        own = f"http://{headers['host'].lower()}"
        if origin is not None and origin.lower() != own:
            return False
        if scope["method"] in ("GET", "HEAD"):
            return site in ("same-origin", "none") or scope["path"] == "/"
        return origin is not None and site in ("same-origin", "none")

    def _is_crowded(self) -> bool:
        now = time.monotonic()
        often = len(self._times) == MOST_REQUESTS and now - self._times[0] < PERIOD
        if not often:
            self._times.append(now)
        return often or self._running >= MOST_AT_ONCE

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        """A token becomes a cookie; without either, nothing is shown."""
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        token = dict(query).get(TOKEN)
        if token is not None and scope["method"] == "GET" and self.keys.use(token):
            rest = urlencode([(name, text) for name, text in query if name != TOKEN])
            answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.cookie, self.keys.secret, httponly=True, samesite="strict")
            return answer
        if self.keys.fits(cookie_parser(headers.get("cookie", "")).get(self.cookie, "")):
            return None
        return _refused(403, STRANGER)


def _refused(status: int, why: str) -> Response:
    return Response(html.bare("Not here", why), status, media_type="text/html")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending


def _limited(receive: Receive) -> Receive:
    """Receive a body that ends within the limit, whatever its headers say."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            raise HTTPException(413, TOO_LARGE)
        return message

    return receiving


def own_hosts(host: str, port: int) -> list[str]:
    """The names under which a server may be asked: those of this computer, and the stated one."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if host not in ("0.0.0.0", "::"):
        names.append(f"[{host}]" if ":" in host else host)
    usual = names if port == HTTP_PORT else []
    return [*usual, *(f"{name}:{port}" for name in dict.fromkeys(names))]
