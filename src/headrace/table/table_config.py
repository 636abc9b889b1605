"""`TableConfig`: the settings of a session."""

from __future__ import annotations

import datetime

from headrace.common.errors import ConfigurationError
from headrace.sql.session.config import LOCAL_TIME_ZONE, SessionConfig, duration_ms
from headrace.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]

_TTL = "table.exec.state.ttl"


class TableConfig(SessionConfig):
    """Settings by key, and the more common ones by method.

    Example:
        >>> t_env.get_config().set("table.exec.state.ttl", "1 h")
    """

    @staticmethod
    def get_default() -> TableConfig:
        """Settings of nobody yet."""
        return TableConfig()

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of TIMESTAMP_LTZ, such as `Europe/Berlin` or `UTC`."""
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(timezone_id)
        except Exception as error:
            raise ConfigurationError(f"there is no time zone {timezone_id!r}") from error
        self._configuration.set_string(LOCAL_TIME_ZONE, timezone_id)

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long state of a key is kept after its last change; zero is for ever."""
        return datetime.timedelta(milliseconds=duration_ms(self.get(_TTL, "0 ms")))

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long state of a key is kept after its last change."""
        millis = duration // datetime.timedelta(milliseconds=1)
        self._configuration.set_string(_TTL, f"{millis} ms")

    def get_max_generated_code_length(self) -> int:
        """Accepted as in Flink; Python's functions have no such limit."""
        return self._configuration.get_integer("table.generated-code.max-length", 4000)

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted as in Flink; Python's functions have no such limit."""
        self._configuration.set_integer(
            "table.generated-code.max-length", max_generated_code_length
        )

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of SQL."""
        return SqlDialect[self.get("table.sql-dialect", "default").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Only the default dialect is supported."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise ConfigurationError("Hive's dialect of SQL is not supported")
        self.set("table.sql-dialect", sql_dialect.name.lower())

    def get_python_executable(self) -> str:
        """Accepted as in PyFlink; workers use the Python of the session."""
        return self.get("python.executable", "python")

    def set_python_executable(self, python_exec: str) -> None:
        """Accepted as in PyFlink; workers use the Python of the session."""
        self.set("python.executable", python_exec)
