"""What the map at the end of ML_PREDICT and VECTOR_SEARCH says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from headrace.common.errors import ConfigurationError, SqlError
from headrace.common.settings.types import BOOLEAN, DURATION, INT, choice
from headrace.sql.udf.batch_table import CallLimits

__all__ = ["CallConfig"]

_TYPES: dict[str, Any] = {
    "async": BOOLEAN,
    "max-concurrent-operations": INT,
    "timeout": DURATION,
    "output-mode": choice("ORDERED", "ALLOW_UNORDERED"),
}


@dataclass(frozen=True)
class CallConfig:
    """What the map at the end of a call says about how it runs.

    Attributes:
        asynchronous: Whether calls are to run at the same time; None if it does not matter.
        concurrent: How many of them, if it is said.
        timeout_ms: How long one may take, if it is said.
    """

    asynchronous: bool | None = None
    concurrent: int | None = None
    timeout_ms: int | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> CallConfig:
        """What a map says; keys that have no meaning here are for the provider."""
        try:
            found = {k: _TYPES[k].parse(k, v) for k, v in given.items() if k in _TYPES}
        except ConfigurationError as error:
            raise SqlError(f"Failed to parse the config. {error}") from error
        concurrent, timeout = found.get("max-concurrent-operations"), found.get("timeout")
        if concurrent is not None and concurrent <= 0:
            raise SqlError(
                "Invalid runtime config option 'max-concurrent-operations'. Its value should be "
                f"positive integer but was {concurrent}."
            )
        millis = None if timeout is None else timeout // timedelta(milliseconds=1)
        return CallConfig(found.get("async"), concurrent, millis)

    def check(self, what: str, name: str, synchronous: bool, asynchronous: bool) -> None:
        """Refuses a mode that whoever is asked does not have."""
        for mode, wanted, there in (
            ("async", True, asynchronous),
            ("sync", False, synchronous),
        ):
            if self.asynchronous is wanted and not there:
                raise SqlError(
                    f"Require {mode} mode, but {what} {name} doesn't support {mode} mode."
                )

    def limits(self, session: CallLimits) -> CallLimits:
        """The limits of calls, where they are not those of the session."""
        return replace(
            session,
            concurrent=self.concurrent or session.concurrent,
            timeout_ms=self.timeout_ms or session.timeout_ms,
        )
