"""Modules of a session: where functions come from besides catalogs."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion

__all__ = ["ModuleManager"]

_KNOWN = ("core",)


class ModuleManager:
    """Loaded modules, and which of them are used in which order.

    There is one module, `core`, with the built-in functions. They stay known without it, as they
    do in Flink.
    """

    def __init__(self) -> None:
        self.loaded: list[str] = ["core"]
        self.used: list[str] = ["core"]

    def load(self, name: str) -> None:
        """LOAD MODULE."""
        if name in self.loaded:
            raise SqlError(
                f"Could not execute LOAD MODULE `{name}`. A module with name '{name}' already "
                "exists"
            )
        if name not in _KNOWN:
            raise SqlError(
                f"Could not execute LOAD MODULE `{name}`. Could not find any factory for "
                f"identifier '{name}'{suggestion(name, _KNOWN)} Available modules: core"
            )
        self.loaded.append(name)
        self.used.append(name)

    def unload(self, name: str) -> None:
        """UNLOAD MODULE."""
        self._check(name, f"Could not execute UNLOAD MODULE {name}. ")
        self.loaded.remove(name)
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

    def entries(self) -> list[tuple[str, bool]]:
        """Used modules in their order, then the others."""
        others = [m for m in self.loaded if m not in self.used]
        return [*((m, True) for m in self.used), *((m, False) for m in others)]
