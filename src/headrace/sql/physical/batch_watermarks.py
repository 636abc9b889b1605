"""In batch mode nothing waits for a watermark."""

from __future__ import annotations

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n

__all__ = ["batch_watermarks"]


def batch_watermarks(node: n.Node, settings: PlanSettings) -> n.Node:
    """The rows as they are: none is late, and as in Flink the time of one may be NULL."""
    return node.input if settings.batch and isinstance(node, n.WatermarkAssigner) else node
