"""The `headrace` command from its first moment on."""

from __future__ import annotations

import signal
import subprocess
import sys

_INTERRUPTED_WHILE_IT_IMPORTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "headrace.cluster.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from headrace.__main__ import main
main()
"""


def test_an_interrupt_while_it_starts_has_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_WHILE_IT_IMPORTS], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_it_is_a_module_to_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "--version"], capture_output=True, text=True
    )
    assert done.stdout.startswith("headrace ")
