"""The state of subtasks, taken at a barrier and put into fresh subtasks.

The names of `subtasks` are here too, because savepoints that were written before there was a module
of that name refer to them by this one.
"""

from __future__ import annotations

from headrace.runtime.snapshots.subtasks import SubtaskSnapshot

__all__ = ["SubtaskSnapshot"]
