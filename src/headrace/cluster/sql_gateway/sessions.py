"""Sessions of the gateway: each has catalogs, settings and operations of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping

from headrace.cluster.sql_client.candidates import candidates
from headrace.cluster.sql_gateway.operation import Operation, OperationResult
from headrace.cluster.sql_gateway.result_pages import ResultPages
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import HeadraceError, SqlError
from headrace.common.settings.secrets import without_secrets
from headrace.common.settings.table_options import DML_SYNC
from headrace.common.time import to_millis
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import SubmittedJob
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.sql.types.type_rules import string_type
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.environment_catalogs import session_of

__all__ = ["GatewaySession", "Sessions", "UnknownSessionError"]

_log = logging.getLogger(__name__)

_CONFIGURING = (
    s.SetOption,
    s.ResetOption,
    s.CreateTable,
    s.CreateView,
    s.CreateDatabase,
    s.CreateCatalog,
    s.CreateFunction,
    s.Drop,
    s.Alter,
    s.Use,
    s.LoadModule,
)


class UnknownSessionError(HeadraceError):
    """There is no such session or operation, or not any more."""


class GatewaySession:
    """Statements of one client; they run one after the other, on threads of their own."""

    def __init__(self, name: str | None, configuration: Configuration) -> None:
        self.handle = str(uuid.uuid4())
        self.name = name
        settings = EnvironmentSettings.new_instance().with_configuration(configuration)
        self.session = session_of(TableEnvironment.create(settings.build()))
        self._executor = StatementExecutor(self.session)
        self._running = threading.Lock()
        self._operations: dict[str, Operation] = {}
        self.accessed_s = time.monotonic()

    def settings(self) -> dict[str, str]:
        """What is set; secrets are masked."""
        return without_secrets(self.session.config.to_map())

    def complete(self, text: str, position: int) -> list[str]:
        """What may stand at a position of a statement."""
        return list(dict.fromkeys(found for found, _ in candidates(self.session, text[:position])))

    # Operations.

    def execute(
        self, text: str, settings: Mapping[str, str] | None = None, timeout_s: float = 0.0
    ) -> Operation:
        """Run a statement in the background.

        Args:
            text: One statement, or a statement set.
            settings: Settings for this statement alone.
            timeout_s: After so long it is given up; 0 for never.
        """
        operation = Operation(lambda op: self._run(op, text, settings or {}), timeout_s)
        self._operations[operation.handle] = operation
        operation.start()
        return operation

    def configure(self, text: str, timeout_s: float = 0.0) -> None:
        """Run a statement that changes the session, and wait for it."""
        statement = parse_statement(text)
        if not isinstance(statement, _CONFIGURING) or getattr(statement, "query", None):
            raise SqlError(
                f"Unsupported statement for configuring session: {text.strip()}\nconfigure-session "
                "takes SET, RESET, USE, LOAD, UNLOAD, CREATE, ALTER and DROP; run others with "
                "/statements"
            )
        operation = self.execute(text, timeout_s=timeout_s)
        try:
            operation.wait()
        finally:
            self.close_operation(operation.handle)

    def operation(self, handle: str) -> Operation:
        """An operation that was not closed."""
        found = self._operations.get(handle)
        if found is None:
            raise UnknownSessionError(
                f"Can not find the submitted operation in the OperationManager with the {handle}"
            )
        return found

    def close_operation(self, handle: str) -> None:
        """Give an operation up and forget it."""
        self.operation(handle).close()
        self._operations.pop(handle, None)

    def close(self) -> None:
        """Give up all operations and schedules; jobs of INSERTs go on, as in Flink."""
        self.session.scheduler.close()
        for operation in list(self._operations.values()):
            operation.close()
        self._operations.clear()

    # Running.

    def _run(self, operation: Operation, text: str, settings: Mapping[str, str]) -> OperationResult:
        statement = parse_statement(text)
        with self._running:
            if not operation.begins():
                raise HeadraceError("nobody is waiting for the statement any more")
            known = {**self.session.config.to_map(), **settings}
            wait = Configuration.from_dict(known).get(DML_SYNC)
            # Waiting is done below, where others may run meanwhile and it can be given up.
            with self._changed(statement, {**settings, DML_SYNC.key: "false"}):
                result = self._executor.run(statement, text)
        client = result.job_client
        if client is None or isinstance(statement, s.Query):
            return self._result_of(result)
        operation.started(client)
        if wait:
            client.get_job_execution_result().result()
        return self._submitted(str(client.get_job_id()))

    @contextlib.contextmanager
    def _changed(self, statement: s.Statement, settings: Mapping[str, str]) -> Iterator[None]:
        """Other settings for one statement, unless it is one that makes settings."""
        if isinstance(statement, s.SetOption | s.ResetOption):
            yield
            return
        configuration = self.session.config.get_configuration()
        before = configuration.to_dict()
        batch = self.session.batch
        try:
            for key, value in settings.items():
                self.session.set_option(key, value)
            yield
        finally:
            for key in settings:
                configuration.remove_config(key)
                if key in before:
                    configuration.set_string(key, before[key])
            self.session.batch = batch

    def _result_of(self, result: StatementResult) -> OperationResult:
        client = result.job_client
        return OperationResult(
            result.schema,
            ResultPages(result.rows(), result.close),
            self.session.zone,
            has_content=result.has_content,
            is_query=client is not None,
            job_id=None if client is None else str(client.get_job_id()),
        )

    def _submitted(self, job_id: str) -> OperationResult:
        schema = Schema((Field("job id", string_type()),))
        pages = ResultPages(iter([(0, (job_id,))]), _nothing)
        return OperationResult(schema, pages, self.session.zone, job_id=job_id)


class Sessions:
    """All sessions of a gateway, and the jobs that they have started.

    Args:
        configuration: What every session begins with.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._most = configuration.get(options.SQL_GATEWAY_MAX_SESSIONS)
        self._idle_s = to_millis(configuration.get(options.SQL_GATEWAY_IDLE_TIMEOUT)) / 1000
        self._check_s = to_millis(configuration.get(options.SQL_GATEWAY_CHECK_INTERVAL)) / 1000
        self._lock = threading.Lock()
        self._sessions: dict[str, GatewaySession] = {}
        self._left_behind: list[SubmittedJob] = []
        self._closed = threading.Event()
        if self._idle_s > 0 and self._check_s > 0:
            threading.Thread(target=self._expire, daemon=True, name="sql-gateway-idle").start()

    def open(self, name: str | None, properties: Mapping[str, str]) -> GatewaySession:
        """A new session.

        Raises:
            HeadraceError: There are as many as there may be.
            ConfigurationError: A setting has a value that it cannot have.
        """
        configuration = Configuration(self._configuration)
        configuration.add_all(Configuration.from_dict(properties))
        self._check_number()
        session = GatewaySession(name, configuration)
        session.session.known_jobs = self.jobs
        with self._lock:
            self._check_number()
            self._sessions[session.handle] = session
        _log.info("session %s (%s) was opened", session.handle, name or "without a name")
        return session

    def _check_number(self) -> None:
        if len(self._sessions) >= self._most:
            raise HeadraceError(
                f"Failed to create session, the count of active sessions exceeds the max count: "
                f"{self._most} ({options.SQL_GATEWAY_MAX_SESSIONS.key})"
            )

    def get(self, handle: str) -> GatewaySession:
        """A session that is open; asking keeps it from being idle."""
        session = self._sessions.get(handle)
        if session is None:
            raise UnknownSessionError(
                f"Session '{handle}' does not exist: it was closed, or nobody asked for it in "
                f"{self._idle_s:g} s ({options.SQL_GATEWAY_IDLE_TIMEOUT.key})"
            )
        session.accessed_s = time.monotonic()
        return session

    def close(self, handle: str) -> None:
        """End a session; the jobs of its INSERTs go on."""
        with self._lock:
            session = self._sessions.pop(handle, None)
            if session is not None:
                self._left_behind += session.session.jobs
        if session is None:
            raise UnknownSessionError(f"Session '{handle}' does not exist")
        session.close()
        with self._lock:
            self._left_behind = [job for job in self._left_behind if not job.ended]
        _log.info("session %s was closed", handle)

    def jobs(self) -> list[SubmittedJob]:
        """Jobs of all sessions: any of them may look at them and stop them."""
        with self._lock:
            here = [job for x in self._sessions.values() for job in x.session.jobs]
            return [*self._left_behind, *here]

    def _expire(self) -> None:
        while not self._closed.wait(self._check_s):
            self.close_idle(time.monotonic())

    def close_idle(self, now_s: float) -> None:
        """End sessions that nobody has asked for, unless they keep tables up to date."""
        for session in list(self._sessions.values()):
            idle = now_s - session.accessed_s > self._idle_s
            if idle and not session.session.keeps_tables_fresh:
                with contextlib.suppress(UnknownSessionError):
                    self.close(session.handle)

    def close_all(self) -> None:
        """End all sessions and all jobs."""
        self._closed.set()
        for handle in list(self._sessions):
            with contextlib.suppress(UnknownSessionError):
                self.close(handle)
        for job in self._left_behind:
            if not job.ended:
                job.client.cancel().result()


def _nothing() -> None:
    """Nothing runs."""
