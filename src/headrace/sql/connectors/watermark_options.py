"""`scan.watermark.*`: when a source emits watermarks, when it is idle, for whom it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy

if TYPE_CHECKING:
    from headrace.sql.connectors.base import TableContext

__all__ = ["WatermarkOptions", "watermark_options"]


@dataclass(frozen=True)
class WatermarkOptions:
    """What a table says about its watermarks.

    Attributes:
        emit_every: Emit after so many rows; 0 for periodically.
        idle_timeout_ms: When a split is idle; None if the session says so, 0 for never.
        alignment: A group, how far ahead one may be, and how often to look; in milliseconds.
    """

    emit_every: int = 0
    idle_timeout_ms: int | None = None
    alignment: tuple[str, int, int] | None = None

    def strategy(self, generators: Any, idle_timeout_ms: int) -> WatermarkStrategy:
        """The strategy of generators; the session's idle timeout counts where a table has none."""
        found = WatermarkStrategy.for_generator(generators)
        timeout = idle_timeout_ms if self.idle_timeout_ms is None else self.idle_timeout_ms
        if timeout:
            found = found.with_idleness(timeout)
        return found if self.alignment is None else found.with_watermark_alignment(*self.alignment)


def watermark_options(context: TableContext) -> WatermarkOptions:
    """Reads the options of a table."""
    strategy = (context.option("scan.watermark.emit.strategy") or "on-periodic").lower()
    if strategy not in ("on-periodic", "on-event"):
        raise SqlError(
            f"'scan.watermark.emit.strategy' of table {context.name} is on-periodic or on-event, "
            f"not '{strategy}'"
        )
    gap = context.integer("scan.watermark.emit.on-event.gap", 1) or 1
    if gap < 1:
        raise SqlError(f"'scan.watermark.emit.on-event.gap' of {context.name} is positive: {gap}")
    group = context.option("scan.watermark.alignment.group")
    drift = _millis(context, "scan.watermark.alignment.max-drift")
    interval = _millis(context, "scan.watermark.alignment.update-interval")
    if (group is None) != (drift is None):
        raise SqlError(
            f"'scan.watermark.alignment.group' and 'scan.watermark.alignment.max-drift' of table "
            f"{context.name} go together"
        )
    alignment = None
    if group is not None and drift is not None:
        alignment = (group, drift, 1000 if interval is None else interval)
    return WatermarkOptions(
        gap if strategy == "on-event" else 0,
        _millis(context, "scan.watermark.idle-timeout"),
        alignment,
    )


def _millis(context: TableContext, key: str) -> int | None:
    found = context.duration(key)
    return None if found is None else int(found.total_seconds() * 1000)
