"""Which changes a node emits: inserts alone, or updates and deletes as well."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql.plan import nodes as n
from headrace.sql.plan.match import Match

__all__ = ["check_append_only", "is_append_only", "mode_text"]


def is_append_only(node: n.Node) -> bool:
    """Whether rows only ever come, and none is changed or taken back."""
    if isinstance(node, n.Scan):
        return bool(getattr(node.source, "append_only", True))
    if isinstance(node, n.Aggregate | n.SetOperation):
        return False
    if isinstance(node, n.Rank):
        return node.window is not None
    if isinstance(node, n.Limit):
        return not node.keys and is_append_only(node.input)
    if isinstance(node, n.Deduplicate):
        return not node.last and not node.event_time
    return all(is_append_only(i) for i in node.inputs)


_NEEDS_INSERTS = (
    n.WindowAggregate,
    n.RowWindowAggregate,
    n.OverAggregate,
    n.WindowTable,
    n.Deduplicate,
    Match,
)


def check_append_only(node: n.Node) -> None:
    """Refuses operators on time over input that changes, with Flink's reason."""
    for child in node.inputs:
        check_append_only(child)
        if isinstance(node, _NEEDS_INSERTS) and not is_append_only(child):
            raise SqlError(
                f"StreamPhysical{type(node).__name__} doesn't support consuming update and delete "
                f"changes which is produced by node {type(child).__name__}"
            )


def mode_text(node: n.Node) -> str:
    """As EXPLAIN CHANGELOG_MODE shows it."""
    return "[I]" if is_append_only(node) else "[I,UB,UA,D]"
