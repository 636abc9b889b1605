"""`TableConfig`: the settings of a session."""

from __future__ import annotations

import datetime

from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.settings import table_options
from headrace.sql.session.config import SessionConfig
from headrace.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]


class TableConfig(SessionConfig):
    """Settings by key, and the more common ones by method.

    Example:
        >>> t_env.get_config().set("table.exec.state.ttl", "1 h")
    """

    @staticmethod
    def get_default() -> TableConfig:
        """Returns the default settings."""
        return TableConfig()

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of TIMESTAMP_LTZ, such as `Europe/Berlin` or `UTC`."""
        try:
            self._configuration.set(table_options.LOCAL_TIME_ZONE, timezone_id)
            self.read(table_options.LOCAL_TIME_ZONE)
        except ConfigurationError as error:
            raise ConfigurationError(f"Unknown time-zone ID: {timezone_id}. {error}") from error

    def get_idle_state_retention(self) -> datetime.timedelta:
        """Returns how long the state of a key is kept after its last change; zero means forever."""
        kept: datetime.timedelta = self.read(table_options.STATE_TTL)
        return kept

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Sets how long the state of a key is kept after its last change."""
        self._configuration.set(table_options.STATE_TTL, duration)

    def get_max_generated_code_length(self) -> int:
        """Accepted as in Flink; Python's functions have no such limit."""
        length: int = self.read(table_options.GENERATED_CODE_LENGTH)
        return length

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted as in Flink; Python's functions have no such limit."""
        self._configuration.set(table_options.GENERATED_CODE_LENGTH, max_generated_code_length)

    def get_sql_dialect(self) -> int:
        """Returns the dialect of SQL."""
        hive = self.read(table_options.SQL_DIALECT) == "hive"
        return SqlDialect.HIVE if hive else SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: int) -> None:
        """Set the dialect; statements can only be read in the default one."""
        if sql_dialect not in (SqlDialect.DEFAULT, SqlDialect.HIVE):
            raise FunctionTypeError(
                f"Unsupported SQL dialect: {sql_dialect}, supported SQL dialects are: "
                "SqlDialect.DEFAULT, SqlDialect.HIVE."
            )
        name = "hive" if sql_dialect == SqlDialect.HIVE else "default"
        self.set(table_options.SQL_DIALECT.key, name)

    def get_python_executable(self) -> str | None:
        """What was set, if anything was; workers use the Python of the session."""
        return self.to_map().get("python.executable")

    def set_python_executable(self, python_exec: str) -> None:
        """Accepted as in PyFlink; workers use the Python of the session."""
        self.set("python.executable", python_exec)
