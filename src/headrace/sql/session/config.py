"""The settings of a session, by key."""

from __future__ import annotations

from typing import Any, Self

from headrace.common.config_options import ConfigOption
from headrace.common.configuration import Configuration
from headrace.common.instants import local_zone
from headrace.common.settings.checks import check
from headrace.common.settings.table_options import LOCAL_TIME_ZONE
from headrace.common.time import to_millis

__all__ = ["SessionConfig"]


class SessionConfig:
    """Settings as text, over the configuration of the session's environment."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def get(self, key: str, default_value: str) -> str:
        """A setting as text."""
        return self._configuration.get_string(key, default_value)

    def read(self, option: ConfigOption[Any]) -> Any:
        """The value of a declared option, as its type."""
        return self._configuration.get(option)

    def millis(self, option: ConfigOption[Any]) -> int:
        """The value of an option that is a duration, in milliseconds."""
        return to_millis(self.read(option), option.key)

    def set(self, key: str, value: str) -> Self:
        """Change a setting; one that a declared option cannot have is an error."""
        check(Configuration.from_dict({key: value}))
        self._configuration.set_string(key, value)
        return self

    def get_configuration(self) -> Configuration:
        """All settings."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Add settings; they win over those that are there."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """All settings as text."""
        return self._configuration.to_dict()

    def get_local_timezone(self) -> str:
        """The time zone of TIMESTAMP_LTZ; that of this machine unless set."""
        zone: str = self.read(LOCAL_TIME_ZONE)
        return str(local_zone()) if zone == "default" else zone
