"""Threads in the shape of Flink's thread dumps."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.runtime.slot.thread_dump import ThreadStack

__all__ = ["thread_infos"]


def thread_infos(threads: Iterable[ThreadStack], where: str = "") -> list[dict[str, str]]:
    """The threads of one process, whose names say where they are."""
    return [
        {"threadName": f"{where}{thread.name}", "stringifiedThreadInfo": thread.text}
        for thread in threads
    ]
