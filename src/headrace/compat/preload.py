"""Installs the alias on import; slots of a PyFlink program import this first.

They also get environment variables that PyFlink's workers have, as far as they mean something here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from headrace.compat.alias import add_finder

_REQUIREMENTS = f"{os.sep}requirements{os.sep}"


def _variables() -> Iterator[tuple[str, str]]:
    yield "python", sys.executable
    # Nothing limits a slot but the machine.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield "_PYTHON_WORKER_MEMORY_LIMIT", str(memory)
    for directory in sys.path:
        if _REQUIREMENTS in directory:
            yield "_PYTHON_REQUIREMENTS_INSTALL_DIR", directory


add_finder()
for _name, _value in _variables():
    os.environ.setdefault(_name, _value)
