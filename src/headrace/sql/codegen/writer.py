"""Collects lines of generated code, temporary names, and what the code refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zoneinfo import ZoneInfo

from headrace.sql.codegen.code import GeneratedCode

_PLAIN = (int, str, bool, bytes, type(None))


class CodeWriter:
    """One function under construction."""

    def __init__(self, zone: str = "UTC") -> None:
        self.lines: list[str] = []
        self.indent = 0
        self.zone = zone
        self._temporaries = 0
        self._references: dict[str, str] = {}
        self._constants: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        self._parts: list[str] = []

    # Lines.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines inside an indented block."""
        self.line(head)
        self.indent += 1
        yield
        self.indent -= 1

    @contextmanager
    def captured(self) -> Iterator[list[str]]:
        """Lines of a block whose head is not written yet go into the list instead."""
        own, self.lines = self.lines, []
        lines = self.lines
        self.indent += 1
        try:
            yield lines
        finally:
            self.lines = own
            self.indent -= 1

    @contextmanager
    def part(self, parameters: Sequence[str]) -> Iterator[str]:
        """Lines of a function inside of `run`, for what would be indented too far."""
        own, self.lines = self.lines, []
        indent, self.indent = self.indent, 1
        call = f"{self.temporary()}({', '.join(parameters)})"
        with self.block(f"def {call}:"):
            yield call
        self._parts += self.lines
        self.lines, self.indent = own, indent

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def atom(self, code: str) -> str:
        """A name or constant for a value that is used more than once."""
        if code.isidentifier() or code.isdigit():
            return code
        name = self.temporary()
        self.line(f"{name} = {code}")
        return name

    # Names.

    def reference(self, path: str) -> str:
        """The name of an implementation, `module:attribute`."""
        name = "f_" + path.replace(".", "_").replace(":", "_")
        self._references[name] = path
        return name

    def constant(self, value: Any) -> str:
        if type(value) in _PLAIN or (type(value) is float and value - value == 0):
            return f"({value!r})" if isinstance(value, int | float) and value < 0 else repr(value)
        for name, known in self._constants.items():
            if known is value:
                return name
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name

    def function(self, function: Any) -> str:
        """The name of a user-defined function; each use has an object of its own."""
        name = f"u{len(self._functions)}"
        self._functions[name] = function
        return name

    def zone_constant(self) -> str:
        """The session's time zone."""
        if "zone" not in self._constants:
            self._constants["zone"] = ZoneInfo(self.zone)
        return "zone"

    def finish(self) -> GeneratedCode:
        head, *lines = self.lines
        return GeneratedCode(
            "\n".join([head, *self._parts, *lines]) + "\n",
            tuple(self._references.items()),
            tuple(self._constants.items()),
            tuple(self._functions.items()),
        )
