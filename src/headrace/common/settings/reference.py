"""The reference of all options, for the documentation and the command line."""

from __future__ import annotations

from typing import Any

from headrace.common.options import OPTIONS, PREFIXES, Option
from headrace.common.settings.types import text_of

__all__ = ["render_markdown"]


def render_markdown() -> str:
    """All options as Markdown: a table for each group, earlier names, and the free prefixes."""
    groups: dict[str, list[Option[Any]]] = {}
    for option in OPTIONS.values():
        first, _, rest = option.key.partition(".")
        name = f"{first}.{rest.partition('.')[0]}" if first in ("execution", "state") else first
        name = name if name in ("execution.checkpointing", "state.backend") else first
        groups.setdefault(name, []).append(option)
    lines = ["# Configuration options", ""]
    for name, members in groups.items():
        lines += [f"## {name}", "", "| Key | Type | Default | Description |", "|---|---|---|---|"]
        lines += [_table_row(option) for option in members]
        lines.append("")
    lines += ["## Keys that begin with", "", "| Prefix | Description |", "|---|---|"]
    lines += [f"| `{prefix}*` | {text} |" for prefix, text in PREFIXES.items()]
    return "\n".join(lines) + "\n"


def _table_row(option: Option[Any]) -> str:
    default = "(none)" if option.default is None else f"`{text_of(option.default)}`"
    if option.default in ([], {}):
        default = "(empty)"
    kind = option.type.name
    if kind == "Enum":
        kind = option.type.expected.removeprefix("one of ")
    text = option.description
    if option.deprecated_keys:
        text += " Also as " + ", ".join(f"`{key}`" for key in option.deprecated_keys) + "."
    return f"| `{option.key}` | {kind} | {default} | {text} |".replace("||", "|")
