"""`SqlDialect`: which SQL a session reads."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """Flink's own dialect; statements in Hive's cannot be read."""

    DEFAULT = 0
    HIVE = 1
