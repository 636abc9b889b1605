"""A client in a terminal of its own that a test types into."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect

WAIT_S = 200


class Terminal:
    """`headrace sql-client`, with some arguments."""

    def __init__(self, history: Path, *arguments: str) -> None:
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        for size in ("COLUMNS", "LINES"):
            environment.pop(size, None)
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "headrace.cluster.cli", "sql-client", "--history", str(history), *arguments],
            env=environment,
            timeout=WAIT_S,
            encoding="utf-8",
            dimensions=(40, 120),
        )

    def expect(self, text: str) -> str:
        """Wait for a text; what came before it, without the terminal's own codes."""
        self.child.expect_exact(text)
        return plain(self.child.before)

    def matched(self, pattern: str) -> str:
        """Wait for a pattern; what it has found."""
        self.child.expect(pattern)
        return str(self.child.after)

    def type(self, text: str) -> None:
        self.child.send(text)

    def run(self, statement: str) -> None:
        self.child.send(statement + "\r")

    def does(self, statement: str) -> None:
        """Run a statement that has no more to say than that it succeeded."""
        self.run(statement)
        self.expect("[INFO] Execute statement succeeded.")

    def ended(self) -> int | None:
        """Wait for the client's end; its exit code."""
        self.child.expect(pexpect.EOF)
        self.close()
        return self.child.exitstatus

    def close(self) -> None:
        self.child.close(force=True)


def plain(text: str) -> str:
    """A text without the codes that move the cursor and colour it."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", text)
