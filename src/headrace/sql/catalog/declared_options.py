"""The options that a table or a model was declared with, as whoever reads them sees them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from headrace.common.errors import SqlError
from headrace.common.settings.types import DURATION
from headrace.sql.binder.context import suggestion

__all__ = ["DeclaredOptions"]


class DeclaredOptions:
    """Options by key; those that were read are remembered, so that others can be refused."""

    #: What has the options, and which of them says who reads them.
    kind = "table"
    finder = "connector"

    path: tuple[str, ...]
    options: dict[str, str]
    _used: set[str]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def option(self, key: str, default: str | None = None) -> str | None:
        self._used.add(key)
        return self.options.get(key, default)

    def required(self, key: str) -> str:
        value = self.option(key)
        if value is None:
            raise SqlError(
                "One or more required options are missing. Missing required options are:\n\n"
                f"{key}\n\nin {self.kind} {self.name}"
            )
        return value

    def integer(self, key: str, default: int | None = None) -> int | None:
        value = self.option(key)
        if value is None:
            return default
        try:
            return int(value)
        except ValueError:
            raise SqlError(
                f"option {key!r} of {self.kind} {self.name} is a number: {value!r}"
            ) from None

    def boolean(self, key: str, default: bool = False) -> bool:
        value = self.option(key)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise SqlError(f"option {key!r} of {self.kind} {self.name} is true or false: {value!r}")
        return value.lower() == "true"

    def duration(self, key: str) -> timedelta | None:
        value = self.option(key)
        return None if value is None else DURATION.parse(key, value)

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Options whose keys begin with something, without it."""
        found = {k: v for k, v in self.options.items() if k.startswith(prefix)}
        self._used |= found.keys()
        return {k.removeprefix(prefix): v for k, v in found.items()}

    def check_all_used(self, known: Iterable[str] = ()) -> None:
        """Refuses options that nothing reads."""
        unknown = sorted(set(self.options) - self._used - {"property-version"})
        if unknown:
            hint = suggestion(unknown[0], [*self._used, *known])
            raise SqlError(
                f"Unsupported options found for '{self.options.get(self.finder)}'.\n\n"
                f"Unsupported options:\n\n{chr(10).join(unknown)}{hint}\n\n"
                f"Supported options:\n\n{chr(10).join(sorted(self._used))}"
            )
