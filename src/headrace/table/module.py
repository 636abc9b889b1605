"""`Module` and `ModuleEntry`: sources of functions, as a program sees them."""

from __future__ import annotations

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A source of functions: `core`, which is always there, or `hive`."""

    def __init__(self, name: str) -> None:
        self.kind = name


class HiveModule(Module):
    """Hive's functions that Spark has too, for `load_module`.

    Args:
        hive_version: Accepted and not needed: the functions are Spark's.
    """

    def __init__(self, hive_version: str | None = None) -> None:
        super().__init__("hive")


class ModuleEntry:
    """A loaded module and whether it is used."""

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """The name."""
        return self._name

    def used(self) -> bool:
        """Whether names of functions are looked up in it."""
        return self._used

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: ModuleEntry) -> bool:
        return (self._name, self._used) < (other._name, other._used)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"
