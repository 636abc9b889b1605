"""`ChangelogMode`: which kinds of rows a stream has."""

from __future__ import annotations

from headrace.common.changelog_mode import ChangelogMode

__all__ = ["ChangelogMode"]
