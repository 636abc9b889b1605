"""The settings of a session, by key."""

from __future__ import annotations

import datetime
from typing import Any, Self

from headrace.common.configuration import Configuration
from headrace.common.option_types import DURATION
from headrace.sql.types.values import local_zone

__all__ = ["LOCAL_TIME_ZONE", "SessionConfig", "duration_ms"]

LOCAL_TIME_ZONE = "table.local-time-zone"


class SessionConfig:
    """Settings as text, over the configuration of the session's environment."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def get(self, key: str, default_value: str) -> str:
        """A setting as text."""
        return self._configuration.get_string(key, default_value)

    def set(self, key: str, value: str) -> Self:
        """Change a setting."""
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
        zone = self._configuration.get_string(LOCAL_TIME_ZONE, "default")
        return str(local_zone()) if zone == "default" else zone


def duration_ms(text: Any, key: str = "duration") -> int:
    """Milliseconds of a duration such as `1 h` or `500 ms`."""
    value: datetime.timedelta = DURATION.parse(key, text)
    return value // datetime.timedelta(milliseconds=1)
