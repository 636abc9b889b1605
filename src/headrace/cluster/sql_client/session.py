"""The client that runs statements in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.cluster.sql_client.candidates import candidates
from headrace.cluster.sql_client.client import MODE_KEY, Client, check_mode
from headrace.cluster.sql_client.live_table import LiveTable, RowsSoFar
from headrace.common.errors import HeadraceError
from headrace.common.settings.table_options import DML_SYNC
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.sql.session.tableau import print_result
from headrace.table.environment_catalogs import session_of

if TYPE_CHECKING:
    from headrace.sql.session.result import StatementResult
    from headrace.table.table_environment import TableEnvironment

__all__ = ["ClientSession"]


class ClientSession(Client):
    """Statements of one client.

    Args:
        environment: Where they run.
        on_terminal: Whether this is a terminal; only then the whole screen is used.
    """

    def __init__(self, environment: TableEnvironment, on_terminal: bool) -> None:
        super().__init__()
        self.session = session_of(environment)
        self._executor = StatementExecutor(self.session)
        self._on_terminal = on_terminal

    def candidates(self, before: str) -> Iterator[tuple[str, int]]:
        """What may stand at the cursor, and how many characters before it are replaced."""
        return candidates(self.session, before)

    def statement(self, text: str) -> None:
        """Run a statement and show its result."""
        statement = parse_statement(text)
        if isinstance(statement, s.SetOption) and statement.key == MODE_KEY:
            check_mode(statement.value or "")
        if isinstance(statement, s.Insert | s.StatementSetBlock):
            print("[INFO] Submitting SQL update statement to the cluster...")
            client = self._executor.run(statement, text).job_client
            assert client is not None
            waited = self.session.config.read(DML_SYNC)
            self.submitted(str(client.get_job_id()), waited)
            return
        result = self._executor.run(statement, text)
        if not result.has_content:
            print("[INFO] Execute statement succeeded.")
        elif result.job_client is None:
            print_result(result)
        else:
            self._show(result)
        print()

    def _show(self, result: StatementResult) -> None:
        mode = self.session.config.get(MODE_KEY, "tableau").lower()
        try:
            if mode == "tableau" or not self._on_terminal:
                print_result(result)
                return
            changelog = mode == "changelog"
            rows = RowsSoFar(result.rows(), changelog)
            LiveTable(result.schema, self.session.zone, rows, changelog).show()
            print("[INFO] Result retrieval cancelled." if not rows.ended.is_set() else "")
        finally:
            result.close()

    def wait_for_jobs(self) -> bool:
        """Wait until all jobs of the session have ended; False if one failed."""
        fine = True
        for job in self.session.jobs:
            try:
                job.client.get_job_execution_result().result()
            except HeadraceError as error:
                print(f"[ERROR] Job {job.client.get_job_id()} ({job.name}) failed:\n{error}\n")
                fine = False
        return fine

    def close(self) -> None:
        """End the jobs that still run."""
        for job in self.session.jobs:
            if not job.client.get_job_status().result().is_terminal_state():
                print(f"[INFO] Job {job.client.get_job_id()} ends with the client.")
                job.client.cancel().result()
