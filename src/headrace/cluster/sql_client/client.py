"""What a client does with what is typed, wherever its statements run."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator

from headrace.common.errors import HeadraceError, SqlError

__all__ = ["HELP", "MODE_KEY", "Client", "check_mode"]

MODE_KEY = "sql-client.execution.result-mode"

_MODES = ("tableau", "table", "changelog")

HELP = """\
The following commands are available:

HELP;                         Shows this text.
QUIT; EXIT;                   Leaves the client; jobs that it started end with it.
CLEAR;                        Clears the screen.
SET; SET 'key' = 'value';     Shows all settings, or changes one.
RESET; RESET 'key';           Resets all settings, or one.
SHOW JOBS;                    Lists the jobs of this session.
STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN];   Ends a job.
SELECT ...; VALUES ...;       Runs a query and shows its rows.
INSERT INTO ...;              Starts a job that writes.
BEGIN STATEMENT SET; INSERT ...; END;          Starts several as one job.
EXPLAIN ...;                  Shows how a statement will run.
CREATE, ALTER, DROP, SHOW, DESCRIBE, USE ...;  Work with tables, views, databases and more.

Settings of the client:
'sql-client.execution.result-mode'   table (live, whole screen), changelog, or tableau (default)
'execution.runtime-mode'             streaming (default) or batch
'execution.state-recovery.path'      the savepoint that the next INSERT starts from
"""


class Client(ABC):
    """Runs statements one after the other and shows what comes of them, as Flink's client does.

    Attributes:
        finished: Whether somebody said QUIT.
    """

    def __init__(self) -> None:
        self.finished = False

    @abstractmethod
    def statement(self, text: str) -> None:
        """Run a statement and show its result."""

    @abstractmethod
    def candidates(self, before: str) -> Iterator[tuple[str, int]]:
        """What may stand at the cursor, and how many characters before it are replaced."""

    @abstractmethod
    def wait_for_jobs(self) -> bool:
        """Wait for jobs that end with the client; False if one failed."""

    @abstractmethod
    def close(self) -> None:
        """Leave nothing behind."""

    def submitted(self, job_id: str, complete: bool) -> None:
        """Say that the job of an INSERT was started, and perhaps that it has ended."""
        print("[INFO] SQL update statement has been successfully submitted to the cluster:")
        print(f"Job ID: {job_id}\n")
        if complete:
            print("[INFO] Complete execution of the SQL update statement.\n")

    def run(self, text: str) -> bool:
        """Run one statement; False if it failed, which is shown."""
        try:
            self._run(text)
        except KeyboardInterrupt:
            print("\n[INFO] Cancelled.")
        except HeadraceError as error:
            print(f"[ERROR] Could not execute SQL statement. Reason:\n{error}\n")
            return False
        finally:
            sys.stdout.flush()
        return True

    def _run(self, text: str) -> None:
        command = text.strip().rstrip(";").strip().upper()
        if command in ("QUIT", "EXIT"):
            self.finished = True
        elif command == "HELP":
            print(HELP)
        elif command == "CLEAR":
            print("\x1b[H\x1b[2J", end="")
        elif command:
            self.statement(text)


def check_mode(value: str) -> None:
    """Refuse a way to show rows that is not there."""
    if value.lower() not in _MODES:
        raise SqlError(f"'{MODE_KEY}' is one of {', '.join(_MODES)}, not '{value}'")
