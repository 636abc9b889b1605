"""Where options are declared: all that there are, by key."""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.common.config_options import ConfigOption as Option
from headrace.common.settings.types import OptionType

__all__ = ["DEPRECATED", "OPTIONS", "PREFIXES", "Option", "declare", "find"]

T = TypeVar("T")

OPTIONS: dict[str, Option[Any]] = {}
"""Every declared option, by key, in the order of the reference."""

DEPRECATED: dict[str, Option[Any]] = {}
"""The options by the keys that they had in earlier versions of Flink."""

PREFIXES: dict[str, str] = {
    "spark.": "Any Spark property; passed on to the Spark session unchanged.",
    "state.backend.rocksdb.": "Further RocksDB settings; those that the library does not have are "
    "ignored.",
    "metrics.reporter.": "Settings of one metrics reporter: `metrics.reporter.<name>.<setting>`.",
    "metrics.scope.": "Formats of metric scopes.",
}
"""Keys that begin like this are known without each being declared."""


def declare(
    key: str, option_type: OptionType[T], default: Any, description: str, deprecated: str = ""
) -> Option[T]:
    """Declares an option; `deprecated` are its earlier keys, with spaces between."""
    parsed = None if default is None else option_type.parse(key, default)
    option = Option(key, option_type, parsed, description, tuple(deprecated.split()))
    OPTIONS[key] = option
    DEPRECATED.update(dict.fromkeys(option.deprecated_keys, option))
    return option


def find(key: str) -> Option[Any] | None:
    """The declared option with this key, or with this earlier one; or None."""
    return OPTIONS.get(key) or DEPRECATED.get(key)
