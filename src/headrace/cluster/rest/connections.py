"""The connections of a REST server: not more than so many, and none that asks for nothing."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

__all__ = ["GuardedConnection"]


class GuardedConnection(H11Protocol):
    """Closed when it has not asked for anything for a while, or when there are too many.

    Uvicorn limits the time between two requests only, not that for the first or for half of one.
    """

    most = 500
    patience_s = 15.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has called."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._look_again(None)

    def _look_again(self, seen: RequestResponseCycle | None) -> None:
        self.loop.call_later(self.patience_s, self._look, seen)

    def _look(self, seen: RequestResponseCycle | None) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is seen and (seen is None or seen.response_complete):
            self.transport.close()
        else:
            self._look_again(self.cycle)
