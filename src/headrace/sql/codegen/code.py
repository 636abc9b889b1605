"""Generated code on its way to a slot: text, and what the text refers to."""

from __future__ import annotations

import importlib
import linecache
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

ENTRY = "run"
"""Name of the function that every piece of generated code defines."""

_numbers = count(1)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GeneratedCode:
    """The text of a function `run` and the names that it uses.

    Attributes:
        source: Python text.
        references: Names and where they come from, `module:attribute`.
        constants: Names and picklable values.
        functions: Names and user-defined functions; each is opened and closed with the operator.
    """

    source: str
    references: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, Any], ...] = ()
    functions: tuple[tuple[str, Any], ...] = ()

    def load(self, functions: dict[str, Any] | None = None) -> Callable[..., Any]:
        """Compiles the text; `functions` are opened user-defined functions by name."""
        namespace: dict[str, Any] = {name: resolve(path) for name, path in self.references}
        namespace |= dict(self.constants)
        namespace |= functions or {}
        filename = f"<generated {next(_numbers)}>"
        _log.debug("%s\n%s", filename, self.source)
        # A traceback through generated code shows its lines.
        lines = self.source.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        with warnings.catch_warnings():
            # Here a literal that is checked for NULL is intended.
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(self.source, filename, "exec"), namespace)
        entry: Callable[..., Any] = namespace[ENTRY]
        return entry


@cache
def resolve(path: str) -> Any:
    """What `module:attribute` names; a module without dots is one of the built-ins."""
    module, _, attribute = path.partition(":")
    if "." not in module:
        module = f"headrace.sql.functions.builtin.{module}"
    return getattr(importlib.import_module(module), attribute)
