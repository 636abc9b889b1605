"""The older windows in GROUP BY: TUMBLE(time, size), HOP, SESSION and their start and end."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.parser import syntax as x
from headrace.sql.parser.excerpts import Excerpt
from headrace.sql.plan.expressions import Call, Expression, Field, Literal, TimeAttribute
from headrace.sql.plan.nodes import Filter, Node, Window
from headrace.sql.types.type_rules import is_timestamp

_KINDS = ("TUMBLE", "HOP", "SESSION")


@dataclass
class GroupWindow:
    """A window of GROUP BY: what it is, and the time that it is made of."""

    window: Window
    time: Expression
    alias: str | None = None
    origin: Excerpt | None = None

    def fields(self) -> tuple[Field, ...]:
        return window_fields(self.time)


def window_fields(time: Expression) -> tuple[Field, ...]:
    """Columns for start, end and time of a window over a time attribute."""
    stamp = t.TimestampType(3, False)
    attribute: t.DataType = stamp
    if isinstance(time.type, t.LocalZonedTimestampType):
        attribute = t.LocalZonedTimestampType(3, False)
    return (
        Field("window_start", stamp),
        Field("window_end", stamp),
        Field("window_time", attribute, time.time),
    )


def is_time(context: BindingContext, value: Expression | Field) -> bool:
    """Whether rows can be put in order by it as they come.

    In batch mode nothing waits for a watermark, and any timestamp will do.
    """
    return value.time is not None or (context.batch and is_timestamp(value.type))


def with_times(context: BindingContext, plan: Node, column: int) -> Node:
    """The rows whose time is known; in batch mode, as in Flink, others are in no window."""
    time = plan.schema.columns()[column]
    if not context.batch or not time.type.is_nullable:
        return plan
    known = Call(t.BooleanType(False), context.registry.find("IS_NOT_NULL"), (time,))
    return Filter.of(plan, known)


def group_window_of(
    context: BindingContext, binder: ExpressionBinder, node: x.Node
) -> GroupWindow | None:
    """The window that an item of GROUP BY is, if it is one."""
    if not isinstance(node, x.Apply) or not isinstance(node.function, str):
        return None
    kind = node.function.upper()
    if kind not in _KINDS or len(node.args) < 2:
        return None
    time = binder.bind(node.args[0])
    if not is_time(context, time):
        raise context.error(
            f"Window can only be defined on a time attribute column, but {time} is "
            f"{time.type.sql_text()}",
            node.span,
        )
    lengths = [duration_of(context, binder, a) for a in node.args[1:]]
    event_time = time.time is not TimeAttribute.PROCTIME
    zoned = isinstance(time.type, t.LocalZonedTimestampType)
    size, slide, offset = lengths[0], 0, 0
    if kind == "HOP":
        slide, size = lengths[0], lengths[1]
        offset = lengths[2] if len(lengths) > 2 else 0
    elif len(lengths) > 1:
        offset = lengths[1]
    window = Window(kind, -1, size, slide, offset, (), event_time, zoned)
    return GroupWindow(window, time, origin=context.excerpt(node.span))


def duration_of(context: BindingContext, binder: ExpressionBinder, node: x.Node) -> int:
    """Milliseconds of a constant interval."""
    bound = binder.bind(node)
    if not isinstance(bound, Literal) or not isinstance(bound.type, t.DayTimeIntervalType):
        raise context.error(
            "a window's length must be a constant interval, such as INTERVAL '5' MINUTE", node.span
        )
    return int(bound.value)


_PROPERTIES = {"START": 0, "END": 1, "ROWTIME": 2, "PROCTIME": 2}


def window_property(
    context: BindingContext, window: GroupWindow, binder: ExpressionBinder, node: x.Node
) -> int | None:
    """Which column of the window TUMBLE_START(...) and the like mean."""
    if not isinstance(node, x.Apply) or not isinstance(node.function, str):
        return None
    if node.function.startswith("$") and node.args == (x.Name((window.alias or "",)),):
        return _PROPERTIES.get(node.function[1:].upper())
    kind, _, name = node.function.upper().partition("_")
    if kind not in _KINDS or name not in _PROPERTIES:
        return None
    other = group_window_of(context, binder, x.Apply(kind, node.args, span=node.span))
    if other is None or other.window != window.window or other.time != window.time:
        raise context.error(
            f"{node.function.upper()} has other arguments than the window of GROUP BY", node.span
        )
    return _PROPERTIES[name]
