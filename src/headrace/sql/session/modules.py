"""Modules of a session: where functions come from besides catalogs."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.functions.hive_module import HIVE_FUNCTIONS, HIVE_REFUSED
from headrace.sql.udf.spark_functions import SparkFunction

__all__ = ["ModuleManager"]

_OPTIONS: dict[str, tuple[str, ...]] = {"core": (), "hive": ("hive-version",)}
"""The modules that there are, and the options of each."""


class ModuleManager:
    """Loaded modules, and which of them are used in which order.

    `core` has the built-in functions, which stay known without it, as they do in Flink; `hive` has
    functions of Hive. The first of the modules in use that has a name counts.
    """

    def __init__(self) -> None:
        self.loaded: dict[str, str] = {"core": "core"}
        """By the names that they have in the session."""
        self.used: list[str] = ["core"]

    def load(self, name: str, kind: str | None = None, options: Iterable[str] = ()) -> None:
        """LOAD MODULE; what it is, is its name unless a program says otherwise."""
        where, kind = f"Could not execute LOAD MODULE `{name}`. ", kind or name
        if name in self.loaded:
            raise SqlError(f"{where}A module with name '{name}' already exists")
        if kind not in _OPTIONS:
            raise SqlError(
                f"{where}Could not find any factory for identifier '{kind}'"
                f"{suggestion(kind, _OPTIONS)} Available modules: {', '.join(_OPTIONS)}"
            )
        unknown = sorted(set(options) - {*_OPTIONS[kind]})
        if unknown:
            raise SqlError(
                f"{where}Unsupported options found for '{kind}': {', '.join(unknown)}"
                f"{suggestion(unknown[0], _OPTIONS[kind])}"
            )
        self.loaded[name] = kind
        self.used.append(name)

    def unload(self, name: str) -> None:
        """UNLOAD MODULE."""
        self._check(name, f"Could not execute UNLOAD MODULE {name}. ")
        del self.loaded[name]
        if name in self.used:
            self.used.remove(name)

    def use(self, names: tuple[str, ...]) -> None:
        """USE MODULES."""
        where = f"Could not execute USE MODULES: [{', '.join(names)}]. "
        for name in names:
            if names.count(name) > 1:
                raise SqlError(f"{where}Module '{name}' appears more than once")
            self._check(name, where)
        self.used = list(names)

    def _check(self, name: str, where: str) -> None:
        if name not in self.loaded:
            hint = suggestion(name, self.loaded)
            raise SqlError(f"{where}No module with name '{name}' exists{hint}")

    def _kinds(self) -> list[str]:
        return [self.loaded[name] for name in self.used]

    def find_function(self, name: str) -> SparkFunction | None:
        """The function of a name that is not a built-in one, or that comes before it."""
        known, name = builtin_registry().find(name), name.lower()
        for module in self._kinds():
            if module == "core" and known is not None and not known.hidden:
                return None
            if module == "hive" and name in HIVE_FUNCTIONS:
                return SparkFunction(name)
        if known is None and "hive" in self._kinds() and name in HIVE_REFUSED:
            raise SqlError(
                f"{name.upper()} is a function of Hive that the module hive does not have: it has "
                "scalar functions that are the same in Spark, which SHOW FUNCTIONS lists. Use a "
                "built-in function or a Python function"
            )
        return None

    def has_built_in(self, name: str) -> bool:
        """Whether a built-in function has the name, which then is not looked up in catalogs."""
        known = builtin_registry().find(name)
        return "core" in self._kinds() and known is not None and not known.hidden

    def function_names(self) -> list[str]:
        """Names of functions that are not built in."""
        return sorted(HIVE_FUNCTIONS) if "hive" in self._kinds() else []

    def entries(self) -> list[tuple[str, bool]]:
        """Used modules in their order, then the others."""
        others = [m for m in self.loaded if m not in self.used]
        return [*((m, True) for m in self.used), *((m, False) for m in others)]
