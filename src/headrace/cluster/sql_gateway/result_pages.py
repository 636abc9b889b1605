"""The rows of a result page by page, each with a token, while they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.common.errors import ConfigurationError

__all__ = ["Page", "ResultPages"]

Row = tuple[int, Sequence[Any]]
Page = tuple[list[Row], int | None]
"""Rows, and the token of the page after them if there is one."""

_MOST_ROWS = 5_000
_WAIT_S = 0.2


class ResultPages:
    """Takes rows from a query until so many wait, and hands them out token by token.

    A page may be asked for once more as long as the next one was not: an answer may get lost.

    Args:
        rows: Kinds and values, as they come; taken by a thread of its own.
        close: Ends whoever makes them.
        most: Rows that wait at most.
    """

    def __init__(
        self, rows: Iterator[Row], close: Callable[[], None], most: int = _MOST_ROWS
    ) -> None:
        self._rows = rows
        self._close = close
        self._most = most
        self._changed = threading.Condition()
        self._waiting: list[Row] = []
        self._last: list[Row] = []
        self._token = 0
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None
        threading.Thread(target=self._take, daemon=True, name="sql-gateway-rows").start()

    @property
    def ended(self) -> bool:
        """Whether no more rows come."""
        return self._ended

    def _take(self) -> None:
        try:
            for row in self._rows:
                with self._changed:
                    self._changed.wait_for(lambda: len(self._waiting) < self._most or self._closed)
                    if self._closed:
                        break
                    self._waiting.append(row)
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - a thread's top: the next page raises it
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def page(self, token: int) -> Page:
        """The rows behind a token; none if nothing has come since the page before.

        Raises:
            ConfigurationError: The token is none of the two that may be asked for.
            HeadraceError: The query failed; rows that came before were handed out.
        """
        with self._changed:
            if token == self._token:
                # Clients ask again at once where nothing has come.
                self._changed.wait_for(
                    lambda: self._waiting or self._ended or token != self._token, _WAIT_S
                )
            if token == self._token - 1:
                return self._last, self._token
            if token != self._token:
                before = f"{self._token - 1} or " if self._token else ""
                raise ConfigurationError(f"the token is {before}{self._token} now, not {token}")
            if not self._waiting and self._error is not None:
                raise self._error
            if not self._waiting and self._ended:
                return [], None
            self._last, self._waiting = self._waiting, []
            self._token += 1
            self._changed.notify_all()
            return self._last, self._token

    def close(self) -> None:
        """Take no more, and end the query."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._close()
