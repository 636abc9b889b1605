"""`ConfigOption`, a setting with its type and default, and `ConfigOptions`, its builder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from headrace.common.errors import FunctionTypeError
from headrace.common.settings.types import BOOLEAN, DOUBLE, INT, LONG, STRING, OptionType

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """A setting: its key, what it may be, and what it is when nobody sets it.

    Attributes:
        key: The name of the setting, such as `parallelism.default`.
        type: How values are read.
        default: The value when none is set; None if there is no default.
        description: One or two sentences for the reference.
        deprecated_keys: Names that the setting had before; they count where `key` is not set.
    """

    key: str
    type: OptionType[T]
    default: T | None = None
    description: str = ""
    deprecated_keys: tuple[str, ...] = ()


class ConfigOptions:
    """Builds options.

    Example:
        >>> option = ConfigOptions.key("shop.retries").int_type().default_value(3)
        >>> option.default
        3
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Starts an option with the given key."""
        if not isinstance(key, str) or not key:
            raise FunctionTypeError(f"the key of an option must be a str, not {key!r}")
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """An option that still needs its type."""

        def __init__(self, key: str) -> None:
            """Starts with a key."""
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """The value is true or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, BOOLEAN)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number of 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, INT)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number of 64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, LONG)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, DOUBLE)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, DOUBLE)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """The value is a text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, STRING)

    class TypedConfigOptionBuilder(Generic[T]):
        """An option that still needs its default."""

        def __init__(self, key: str, option_type: OptionType[T]) -> None:
            """Starts with a key and a type."""
            self._key = key
            self._type = option_type

        def default_value(self, value: T) -> ConfigOption[T]:
            """The finished option, with a default."""
            return ConfigOption(self._key, self._type, self._type.parse(self._key, value))

        def no_default_value(self) -> ConfigOption[T]:
            """The finished option, without a default."""
            return ConfigOption(self._key, self._type)
