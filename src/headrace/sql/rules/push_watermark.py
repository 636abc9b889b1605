"""A source that knows its splits makes the watermark, for each of them by itself."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.rules.merge_projections import substitute


def push_watermark(node: n.Node) -> n.Node:
    """Otherwise one split that is ahead would make records of the others late."""
    if not isinstance(node, n.WatermarkAssigner) or node.watermark is None:
        return node
    project = node.input if isinstance(node.input, n.Project) else None
    scan = node.input if project is None else project.input
    if not isinstance(scan, n.Scan) or not getattr(scan.source, "takes_watermarks", False):
        return node
    watermark = node.watermark
    if project is not None:
        watermark = substitute(watermark, project.expressions)
    below: n.Node = replace(scan, watermark=watermark)
    if project is not None:
        below = replace(project, input=below)
    return replace(node, input=below, watermark=None)
