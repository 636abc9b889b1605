"""Rows of a query with the same key of a sink: when INSERT must say what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.upsert_keys import upsert_keys

__all__ = ["conflict_problem", "may_conflict"]


def may_conflict(query: n.Node, keys: tuple[int, ...]) -> bool:
    """Whether two rows of a query may have one key of the sink."""
    return not any(key <= set(keys) for key in upsert_keys(query))


def conflict_problem(sink: n.Sink, required: bool) -> str | None:
    """What is wrong with the ON CONFLICT of a stream's sink, or with leaving it out."""
    name, target = ".".join(sink.table), sink.target
    changes = not is_append_only(sink.input)
    upserts = target.upserts(changes)
    if sink.conflict is not None and not upserts:
        reason = "it requires UPDATE_BEFORE (retract mode)"
        if not changes or not target.accepts_updates:
            reason = "it only accepts INSERT (append-only) changes"
        return (
            f"ON CONFLICT clause is only allowed for upsert sinks. The sink '{name}' is not an "
            f"upsert sink because {reason}."
        )
    if sink.conflict in ("NOTHING", "ERROR"):
        missing = list(dict.fromkeys(_without_watermark(sink.input)))
        if missing:
            return (
                f"ON CONFLICT DO {sink.conflict} requires all source tables to define watermarks, "
                f"but the following source(s) do not: {', '.join(missing)}. Please add a WATERMARK "
                "declaration to these tables."
            )
    needed = required and sink.conflict is None and upserts and sink.upsert_keys
    if not needed or not may_conflict(sink.input, sink.upsert_keys):
        return None
    names = sink.schema.names
    own = min(upsert_keys(sink.input), key=len, default=None)
    shown = "none" if own is None else f"[{', '.join(names[i] for i in sorted(own))}]"
    return (
        "The query has an upsert key that differs from the primary key of the sink table "
        f"'{name}'. Primary key: [{', '.join(names[i] for i in sink.upsert_keys)}], upsert key: "
        f"{shown}. This can lead to non-deterministic results when multiple records with different "
        "upsert keys map to the same primary key. Please specify an ON CONFLICT clause to define "
        "how conflicts should be handled: ON CONFLICT DO DEDUPLICATE (update to the latest record, "
        "state intensive, since we need to keep the entire history), or ON CONFLICT DO ERROR (fail "
        "on conflict), or ON CONFLICT DO NOTHING (keep first record)."
    )


def _without_watermark(node: n.Node, marked: bool = False) -> Iterator[str]:
    if isinstance(node, n.Scan):
        if not marked and node.watermark is None:
            yield ".".join(node.table)
        return
    marked = isinstance(node, n.WatermarkAssigner) or (marked and isinstance(node, n.Project))
    for child in node.inputs:
        yield from _without_watermark(child, marked)
