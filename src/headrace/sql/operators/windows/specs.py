"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode

_PACKAGE = "headrace.sql.operators.windows"


@dataclass(frozen=True)
class WindowSlices:
    """How rows go into windows of fixed length: into slices that windows are merged of.

    All in milliseconds. `zone` is that of the clock that windows follow.
    """

    kind: str
    size: int
    slide: int
    offset: int
    step: int
    zone: str | None = None


@dataclass(frozen=True)
class LocalWindowAggregateSpec(OperatorSpec):
    """The part of a window aggregate before the exchange; `time` and `attached` as there."""

    code: AggregateCode
    key: tuple[int, ...]
    slices: WindowSlices
    time: int
    attached: bool = False

    kind: ClassVar[str] = "LocalWindowAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.aggregate:LocalWindowAggregateOperator"


@dataclass(frozen=True)
class WindowAggregateSpec(OperatorSpec):
    """Aggregates of tumbling, hopping and cumulating windows.

    `time` is the column of the rows' time, or of the ends of their windows if `attached`.
    """

    code: AggregateCode
    keys: int
    slices: WindowSlices
    time: int
    properties: tuple[str, ...]
    merges: bool = False
    event_time: bool = True
    attached: bool = False

    kind: ClassVar[str] = "WindowAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.aggregate:WindowAggregateOperator"


@dataclass(frozen=True)
class LocalSessionAggregateSpec(OperatorSpec):
    """The part of an aggregate of sessions before the exchange: parts of sessions come out."""

    code: AggregateCode
    key: tuple[int, ...]
    gap: int
    time: int

    kind: ClassVar[str] = "LocalSessionAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.local_session:LocalSessionAggregateOperator"


@dataclass(frozen=True)
class SessionAggregateSpec(OperatorSpec):
    """Aggregates of session windows; with `merges` parts of sessions come in, rather than rows."""

    code: AggregateCode
    keys: int
    gap: int
    time: int
    properties: tuple[str, ...]
    event_time: bool = True
    zone: str | None = None
    merges: bool = False

    kind: ClassVar[str] = "SessionAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.session_aggregate:SessionAggregateOperator"


@dataclass(frozen=True)
class SessionTableSpec(OperatorSpec):
    """Adds window_start, window_end and window_time of their session to rows."""

    gap: int
    time: int
    event_time: bool = True
    zone: str | None = None

    kind: ClassVar[str] = "WindowTableFunction"
    operator: ClassVar[str] = f"{_PACKAGE}.session_table:SessionTableOperator"


@dataclass(frozen=True)
class RowWindowAggregateSpec(OperatorSpec):
    """Aggregates over the last rows of a key, every `slide` rows."""

    code: AggregateCode
    keys: int
    size: int
    slide: int

    kind: ClassVar[str] = "RowWindowAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.row_aggregate:RowWindowAggregateOperator"


@dataclass(frozen=True)
class WindowTableSpec(OperatorSpec):
    """Adds window_start, window_end and window_time to rows."""

    slices: WindowSlices
    time: int
    event_time: bool = True

    kind: ClassVar[str] = "WindowTableFunction"
    operator: ClassVar[str] = f"{_PACKAGE}.table:WindowTableOperator"
