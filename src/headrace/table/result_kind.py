"""`ResultKind`: whether a statement has rows to show."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """What came of a statement."""

    SUCCESS = 0
    """It was done; the only row is `OK`."""

    SUCCESS_WITH_CONTENT = 1
    """There are rows."""
