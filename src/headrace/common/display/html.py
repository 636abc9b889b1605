"""Little tables in HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["escaped", "html_facts", "html_table"]


def escaped(value: object) -> str:
    """A text that shows as it is."""
    return html.escape(str(value))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], below: str = "") -> str:
    """Rows under the names of their columns, with a remark below them."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    remark = f"<div>{escaped(below)}</div>" if below else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{remark}"


def html_facts(title: str, facts: Mapping[str, object]) -> str:
    """What there is to know of one thing, a line for each."""
    lines = "".join(
        f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<div><strong>{escaped(title)}</strong></div><table><tbody>{lines}</tbody></table>"
