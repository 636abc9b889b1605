"""How this `headrace` can be called again."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

__all__ = ["this_command"]


def this_command() -> str:
    """What to type for `headrace`: its path, where the shell finds another one or none."""
    called = Path(sys.argv[0])
    found = shutil.which("headrace")
    if called.name != "headrace":
        return "headrace" if found else f"{sys.executable} -m headrace"
    on_path = found is not None and os.path.realpath(found) == os.path.realpath(called)
    return "headrace" if on_path else str(called)
