"""What the hint LOOKUP says about a join."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LookupHint"]


@dataclass(frozen=True)
class LookupHint:
    """What `LOOKUP('table' = ..., ...)` says.

    Attributes:
        asynchronous: Whether lookups are to run at the same time; None if it does not matter.
        capacity: How many of them, if it is said.
        timeout_ms: How long one may take, if it is said.
        attempts: How often a key is looked up at most until it has a row.
        retry_delay_ms: How long the next attempt waits.
    """

    asynchronous: bool | None = None
    capacity: int | None = None
    timeout_ms: int | None = None
    attempts: int = 1
    retry_delay_ms: int = 0

    def texts(self, asynchronous: bool) -> list[str]:
        """As plans show it, for a table that can be asked asynchronously, or not."""
        parts = []
        if asynchronous:
            # Where it cannot, the hint has no effect, as in Flink.
            parts.append(f"async=[{str(self.asynchronous is not False).lower()}]")
        if self.attempts > 1:
            parts.append(
                f"retry=[lookup_miss, FIXED_DELAY, {self.retry_delay_ms}ms, {self.attempts - 1}]"
            )
        return parts
