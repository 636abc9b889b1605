"""Threads in the shape of Flink's thread dumps."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.cluster.manager.bodies import ThreadInfo
from headrace.runtime.slot.thread_dump import ThreadStack

__all__ = ["thread_infos"]


def thread_infos(threads: Iterable[ThreadStack], where: str = "") -> list[ThreadInfo]:
    """The threads of one process, whose names say where they are."""
    return [ThreadInfo(f"{where}{thread.name}", thread.text) for thread in threads]
