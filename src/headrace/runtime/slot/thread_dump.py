"""What every thread of a process does right now."""

from __future__ import annotations

import sys
import threading
import traceback
from dataclasses import dataclass

__all__ = ["ThreadStack", "thread_dump"]


@dataclass(frozen=True)
class ThreadStack:
    """A thread and the lines that it is at, the innermost one last."""

    name: str
    text: str


def thread_dump() -> tuple[ThreadStack, ...]:
    """All threads of this process, the main thread first and the one that asks last."""
    frames = sys._current_frames()
    asking = threading.get_ident()
    known = {t.ident: t for t in threading.enumerate()}
    main = threading.main_thread().ident
    found = []
    for ident in sorted(frames, key=lambda i: (i == asking, i != main, i)):
        thread = known.get(ident)
        name = thread.name if thread is not None else f"thread {ident}"
        kind = " daemon" if thread is not None and thread.daemon else ""
        lines = "".join(traceback.format_stack(frames[ident]))
        found.append(ThreadStack(name, f'"{name}" Id={ident}{kind}\n{lines}\n'))
    return tuple(found)
