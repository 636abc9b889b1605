"""`SqlDialect`: which SQL a session reads."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """Flink's own dialect; Hive's is not supported."""

    DEFAULT = 0
    HIVE = 1
