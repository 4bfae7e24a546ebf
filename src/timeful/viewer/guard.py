"""Who may ask a local server: the host, the origin, the method and the token of a request.

Other programs of the machine, and pages of other sites in the same browser, reach a server on
loopback too. A name that an attacker points to 127.0.0.1 is refused by its `Host`; a page of
another site by its `Origin`; another account of the machine by the token.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_METHODS = ("GET", "HEAD")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PARAMETER = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def accepts(self, host: str) -> bool:
        """Whether the `Host` of a request is one that this server listens at."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if port not in (None, self.port) or parts.username is not None or parts.path:
            return False
        if self.is_loopback:
            return name in _LOOPBACK
        if is_any(self.host):
            # A name may be rebound by its owner; an address in numbers may not.
            return name in _LOOPBACK or _is_ip(name)
        return name in (self.host.lower(), *_LOOPBACK)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    return host in _LOOPBACK or (_is_ip(host) and ip_address(host).is_loopback)


def is_any(host: str) -> bool:
    """Whether a host stands for all addresses of the machine."""
    return _is_ip(host) and ip_address(host).is_unspecified


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """An ASGI application that answers only those who may ask, with headers that bind the page.

    Args:
        app: The application behind it.
        address: Where it listens.
        token: What the first request must have as `?token=`, and later ones as a cookie; "" for
            none.
    """

    def __init__(self, app: ASGIApp, address: Address, token: str) -> None:
        self._app = app
        self._address = address
        self._token = token
        self._cookie = f"timeful_{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refuse(scope)
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass; None if it may."""
        headers = Headers(scope=scope)
        if not self._address.accepts(headers.get("host", "")):
            return PlainTextResponse("this server does not listen at that host", 421)
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin):
            return PlainTextResponse("requests of other sites are refused", 403)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("this server only reads", 405, {"allow": "GET, HEAD"})
        return self._check_token(scope, headers)

    def _is_own(self, origin: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme == "http" and self._address.accepts(parts.netloc)

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._token:
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if given := query.pop(_PARAMETER, []):
            if not _is_equal(given[0], self._token):
                return PlainTextResponse("the token is not that of this server", 403)
            # The token leaves the address bar, and with it the history of the browser.
            rest = urlencode(query, doseq=True)
            answer = RedirectResponse(f"/{f'?{rest}' if rest else ''}", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if _is_equal(_read_cookie(headers, self._cookie), self._token):
            return None
        return PlainTextResponse(
            "open the address that `timeful view` printed, with its token", 403
        )


def _read_cookie(headers: Headers, name: str) -> str:
    for header in headers.getlist("cookie"):
        for pair in header.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
    return ""


def _is_equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
