"""`Configuration`: settings by key, kept as given and read as the type that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from headrace.common.config_options import ConfigOption
from headrace.common.errors import FunctionTypeError
from headrace.common.java.order import java_order
from headrace.common.settings.secrets import without_secrets
from headrace.common.settings.types import (
    BOOLEAN,
    DOUBLE,
    LIST,
    LONG,
    STRING,
    OptionType,
    text_of,
)

__all__ = ["Configuration"]

T = TypeVar("T")

# Inside the class below, `set` is a method.
_Keys: TypeAlias = set[str]


class Configuration:
    """A set of settings.

    Values are kept as given. Reading one as another type converts it, so a number set as text is
    found as a number; a value that cannot be read raises a `ConfigurationError` that names the key.

    Example:
        >>> conf = Configuration().set_string("parallelism.default", "4")
        >>> conf.get_integer("parallelism.default", 1)
        4
    """

    __slots__ = ("_values",)

    def __init__(self, other: Configuration | None = None) -> None:
        """Creates an empty configuration, or a copy of another."""
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Creates a configuration from a dict of settings."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    def _put(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str):
            raise FunctionTypeError(f"the key of a setting must be a str, not {key!r}")
        self._values[key] = value
        return self

    def _read(self, key: str, option_type: OptionType[T], default: Any) -> Any:
        if key not in self._values:
            return default
        return option_type.parse(key, self._values[key])

    def get(self, option: ConfigOption[T], default_value: Any = None) -> Any:
        """The value of a declared option, as its type.

        Args:
            option: The option, for example one of `headrace.common.options`.
            default_value: Returned when the option is not set, instead of the option's own default.
        """
        for key in (option.key, *option.deprecated_keys):
            if key in self._values:
                return option.type.parse(key, self._values[key])
        return option.default if default_value is None else default_value

    def set(self, option: ConfigOption[T], value: Any) -> Configuration:
        """Sets a declared option; the value is checked at once."""
        option.type.parse(option.key, value)
        return self._put(option.key, value)

    def get_string(self, key: str, default_value: str) -> str:
        """The value as text, or the default if there is none."""
        value: str = self._read(key, STRING_OF_ANYTHING, default_value)
        return value

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets a text."""
        return self._put(key, STRING.parse(key, value))

    def get_integer(self, key: str, default_value: int) -> int:
        """The value as a whole number, or the default if there is none."""
        value: int = self._read(key, LONG, default_value)
        return value

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets a whole number."""
        return self._put(key, LONG.parse(key, value))

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value as true or false, or the default if there is none."""
        value: bool = self._read(key, BOOLEAN, default_value)
        return value

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets true or false."""
        return self._put(key, BOOLEAN.parse(key, value))

    def get_float(self, key: str, default_value: float) -> float:
        """The value as a number, or the default if there is none."""
        value: float = self._read(key, DOUBLE, float(default_value))
        return value

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets a number."""
        return self._put(key, DOUBLE.parse(key, value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The bytes, or the default if there are none."""
        return bytearray(self._read(key, _BYTES, default_value))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets bytes."""
        return self._put(key, _BYTES.parse(key, value))

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The items of a list in text form: `a;b`, `[a, b]`, or lines that begin with a dash."""
        if not value:
            return []
        if value.startswith("- "):
            return [line.removeprefix("- ").strip() for line in value.splitlines()]
        if value.lstrip().startswith("["):
            return LIST.parse("list", value)
        return value.split(";")

    def key_set(self) -> _Keys:
        """The keys of all settings."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether there is a setting with this key."""
        return key in self._values

    def contains(self, option: ConfigOption[Any]) -> bool:
        """Whether a declared option is set, if only by an earlier name."""
        return not self._values.keys().isdisjoint((option.key, *option.deprecated_keys))

    def remove_config(self, key: str) -> bool:
        """Removes a setting; says whether there was one."""
        if key not in self._values:
            return False
        del self._values[key]
        return True

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Takes over all settings of another configuration, with `prefix` before their keys."""
        for key, value in other._values.items():
            self._values[(prefix or "") + key] = value
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Writes all settings into a dict, with the values that they were given."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All settings as texts."""
        return {key: text_of(value) for key, value in self._values.items()}

    def __eq__(self, other: object) -> bool:
        """Equal if every setting is written the same way."""
        if not isinstance(other, Configuration):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Consistent with equality; changes when a setting does."""
        return hash(frozenset(self.to_dict().items()))

    def __copy__(self) -> Configuration:
        """A copy that can be changed on its own."""
        return Configuration(self)

    def __deepcopy__(self, memodict: Any = None) -> Configuration:
        """A copy that can be changed on its own."""
        return Configuration(self)

    def __str__(self) -> str:
        """The settings in braces, as Java prints a map; secrets are masked."""
        shown = without_secrets(self.to_dict())
        return "{" + ", ".join(f"{key}={shown[key]}" for key in java_order(shown)) + "}"

    def __repr__(self) -> str:
        """The call that makes an equal configuration, but for secrets, which are masked."""
        return f"Configuration.from_dict({without_secrets(self.to_dict())!r})"


def _read_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return bytes.fromhex(value)
    return bytes(memoryview(value))


_BYTES: OptionType[bytes] = OptionType("Bytes", "bytes, or text of hexadecimal digits", _read_bytes)
STRING_OF_ANYTHING: OptionType[str] = OptionType("String", "a text", text_of)
