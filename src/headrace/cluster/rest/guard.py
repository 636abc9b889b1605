"""Who may call: a token if there is one, the right host, no foreign pages, no endless bodies."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.cluster.rest.dashboard import is_dashboard_path

__all__ = ["Guard", "GuardSettings"]

_CLOSE = {"connection": "close"}
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class GuardSettings:
    """What the guard checks.

    Attributes:
        hosts: Names by which the server may be called; a foreign one is a page that has its name
            resolve to this machine. Empty if any will do, because a token is asked for.
        token: What every request must bring, if it is set; the dashboard's own files need none.
        largest: Bytes that a request may have.
        patience_s: How long a body may come to a standstill.
    """

    hosts: Sequence[str]
    token: str | None
    largest: int
    patience_s: float = 30.0


class Guard:
    """Refuses requests before anybody sees them."""

    def __init__(self, app: ASGIApp, settings: GuardSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            code, text = refused
            # What is on its way behind it is not read.
            await JSONResponse({"errors": [text]}, code, _CLOSE)(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0].strip("[]")
        if self._settings.hosts and name not in self._settings.hosts:
            return 403, f"this server is not called {name!r}"
        if self._settings.token is not None and not is_dashboard_path(scope["path"]):
            given = headers.get("authorization", "").removeprefix("Bearer ").encode()
            if not hmac.compare_digest(given, self._settings.token.encode()):
                return 401, "the token of the cluster is missing or wrong"
        if scope["method"] not in _READING and not self._own_page(headers, host, scope):
            return 403, "a page of another site may not change anything here"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._settings.largest:
            return 413, self._too_long
        return None

    @staticmethod
    def _own_page(headers: Headers, host: str, scope: Scope) -> bool:
        """Browsers say where a request comes from, other programs say nothing."""
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return False
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")

    @property
    def _too_long(self) -> str:
        return f"a request may have at most {self._settings.largest} bytes"

    def _limited(self, receive: Receive) -> Receive:
        seen, more = 0, True

        async def limited() -> Message:
            nonlocal seen, more
            if not more:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._settings.patience_s)
            except TimeoutError:
                raise HTTPException(408, "the rest of the request is missing", _CLOSE) from None
            if message["type"] == "http.disconnect":
                # Nobody reads it: it ends the request without a trace in the log.
                raise HTTPException(400, "the request was cut off", _CLOSE)
            more = message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > self._settings.largest:
                # Whoever announces no length gets no further than that.
                raise HTTPException(413, self._too_long, _CLOSE)
            return message

        return limited
