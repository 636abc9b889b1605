"""Runs statements one after the other and shows what comes of them, as Flink's client does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headrace.cluster.sql_client.live_table import LiveTable, RowsSoFar
from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.table.result_kind import ResultKind

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_result import TableResult

__all__ = ["HELP", "ClientSession"]

HELP = """\
The following commands are available:

HELP;                         Shows this text.
QUIT; EXIT;                   Leaves the client; jobs that it started end with it.
CLEAR;                        Clears the screen.
SET; SET 'key' = 'value';     Shows all settings, or makes one.
RESET; RESET 'key';           Takes back all settings, or one.
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

_MODES = ("tableau", "table", "changelog")
_MODE_KEY = "sql-client.execution.result-mode"


class ClientSession:
    """Statements of one client.

    Args:
        environment: Where they run.
        interactive: Whether somebody sits at a terminal; only then the whole screen is used.
    """

    def __init__(self, environment: TableEnvironment, interactive: bool) -> None:
        self.environment = environment
        self.session = environment._session
        self._interactive = interactive
        self.finished = False

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
            self._statement(text)

    def _statement(self, text: str) -> None:
        statement = parse_statement(text)
        if isinstance(statement, s.SetOption) and statement.key is not None:
            self._check_setting(statement.key, statement.value or "")
        executor = self.environment._executor
        if isinstance(statement, s.Insert | s.StatementSetBlock):
            print("[INFO] Submitting SQL update statement to the cluster...")
            self._submitted(executor.run(statement, text))
            return
        result = executor.run(statement, text)
        if result.get_result_kind() == ResultKind.SUCCESS:
            print("[INFO] Execute statement succeeded.")
        elif result.get_job_client() is None:
            result.print()
        else:
            self._show(result)
        print()

    def _check_setting(self, key: str, value: str) -> None:
        if key == _MODE_KEY and value.lower() not in _MODES:
            raise SqlError(f"'{key}' is one of {', '.join(_MODES)}, not '{value}'")
        if key == "execution.runtime-mode":
            if value.lower() not in ("streaming", "batch"):
                raise SqlError(f"'{key}' is streaming or batch, not '{value}'")
            self.session.batch = value.lower() == "batch"
            self.session.env.set_runtime_mode(RuntimeExecutionMode[value.upper()])

    def _submitted(self, result: TableResult) -> None:
        client = result.get_job_client()
        assert client is not None
        print("[INFO] SQL update statement has been successfully submitted to the cluster:")
        print(f"Job ID: {client.get_job_id()}\n")
        if self.session.config.get("table.dml-sync", "false") == "true":
            print("[INFO] Complete execution of the SQL update statement.\n")

    def _show(self, result: TableResult) -> None:
        mode = self.session.config.get(_MODE_KEY, "tableau").lower()
        try:
            if mode == "tableau" or not self._interactive:
                result.print()
                return
            changelog = mode == "changelog"
            rows = RowsSoFar(result._rows(), changelog)
            LiveTable(result._schema, self.session.zone, rows, changelog).show()
            print("[INFO] Result retrieval cancelled." if not rows.ended.is_set() else "")
        finally:
            if result._close is not None:
                result._close()

    def wait_for_jobs(self) -> bool:
        """Wait until all jobs of the session have ended; False if one failed."""
        fine = True
        for job in self.session.jobs:
            try:
                job.client.get_job_execution_result().result()
            except Exception as error:
                print(f"[ERROR] Job {job.client.get_job_id()} ({job.name}) failed:\n{error}\n")
                fine = False
        return fine

    def close(self) -> None:
        """End the jobs that still run."""
        for job in self.session.jobs:
            if not job.client.get_job_status().result().is_terminal_state():
                print(f"[INFO] Job {job.client.get_job_id()} ends with the client.")
                job.client.cancel().result()
