"""Refreshes materialized tables again and again, by the clock, as long as their session lives."""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Callable

from headrace.sql.catalog.entries import TablePath
from headrace.sql.catalog.materialization import Freshness

__all__ = ["RefreshScheduler"]

_log = logging.getLogger(__name__)


class RefreshScheduler:
    """A thread for each table, which waits for the next time and refreshes the table."""

    def __init__(self) -> None:
        self._ended: dict[TablePath, threading.Event] = {}

    def __len__(self) -> int:
        return len(self._ended)

    def __contains__(self, table: TablePath) -> bool:
        return table in self._ended

    def start(
        self, table: TablePath, freshness: Freshness, refresh: Callable[[datetime.datetime], None]
    ) -> None:
        """Call `refresh` with each time of the schedule, and one refresh after the other.

        A time that comes while the last refresh goes on is left out. A refresh that fails is
        logged; the next one may succeed.
        """
        self.stop(table)
        ended = self._ended[table] = threading.Event()

        def run() -> None:
            while True:
                now = datetime.datetime.now()
                due = freshness.next_after(now)
                if ended.wait((due - now).total_seconds()):
                    return
                try:
                    refresh(due)
                except Exception:  # noqa: BLE001 - whatever it was, the next one may succeed
                    _log.exception("the refresh of %s at %s failed", ".".join(table), due)

        name = f"refresh-{'.'.join(table)}"
        threading.Thread(target=run, daemon=True, name=name).start()

    def stop(self, table: TablePath) -> None:
        """Refresh a table no more; a refresh that goes on is not given up."""
        ended = self._ended.pop(table, None)
        if ended is not None:
            ended.set()

    def close(self) -> None:
        """Refresh nothing any more."""
        for table in list(self._ended):
            self.stop(table)
