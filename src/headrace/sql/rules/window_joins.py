"""Joins of rows in the same window need no updates: rows come out when it is over."""

from __future__ import annotations

from dataclasses import fields, replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join, WindowJoin
from headrace.sql.rules.window_columns import window_column

__all__ = ["window_joins"]


def window_joins(node: n.Node) -> n.Node:
    """Keys among which are the start and the end of windows, as in Flink both."""
    if type(node) is not Join:
        return node
    windows = _windows(node)
    if windows is None:
        return node
    known = {f.name: getattr(node, f.name) for f in fields(node)}
    return WindowJoin(**known, windows=windows)


def _windows(node: Join) -> tuple[n.Window, n.Window] | None:
    found: dict[str, tuple[n.Window, n.Window]] = {}
    for a, b in zip(node.left_keys, node.right_keys, strict=True):
        left, right = window_column(node.left, a), window_column(node.right, b)
        if left is not None and right is not None and left[1] == right[1]:
            windows = left[0].window.attached(a), right[0].window.attached(b)
            # Other windows may have the same start and end, but then one side does not wait.
            if windows[0] == replace(windows[1], time=a):
                found[left[1]] = windows
    return found["end"] if {"start", "end"} <= found.keys() else None
