"""What an operator is to do, as small picklable values.

The DataStream API makes them, `headrace.runtime.operators` turns each into the operator that does
the work. Each kind of operator has exactly one spec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class OperatorSpec:
    """Base of all specs. `kind` is the word shown in plans.

    `operator` names the class that does the work, `module:class`, for specs of other packages.
    `imports` names what it imports only when it runs; slots begin with that.
    """

    kind: ClassVar[str] = "Operator"
    operator: ClassVar[str] = ""
    imports: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class SourceSpec(OperatorSpec):
    """Reads records; `source` is a `headrace.datastream.connectors.base.Source`."""

    source: Any
    watermark_strategy: Any = None
    watermark_interval_ms: int = 200
    error_tag: Any = None

    kind: ClassVar[str] = "Source"


@dataclass(frozen=True)
class MapSpec(OperatorSpec):
    """One record for each record."""

    function: Any
    error_tag: Any = None

    kind: ClassVar[str] = "Map"


@dataclass(frozen=True)
class FilterSpec(OperatorSpec):
    """Keeps the records for which the function is true."""

    function: Any
    error_tag: Any = None

    kind: ClassVar[str] = "Filter"


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    """Any number of records for each record."""

    function: Any
    error_tag: Any = None

    kind: ClassVar[str] = "Flat Map"


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """A rolling reduction for each key; `final_only` is batch mode's single result at the end."""

    function: Any
    final_only: bool = False

    kind: ClassVar[str] = "Reduce"


@dataclass(frozen=True)
class ProcessSpec(OperatorSpec):
    """A ProcessFunction or, after key_by, a KeyedProcessFunction."""

    function: Any
    error_tag: Any = None

    kind: ClassVar[str] = "Process"


@dataclass(frozen=True)
class CoMapSpec(OperatorSpec):
    """Two inputs, one record for each record."""

    function: Any

    kind: ClassVar[str] = "Co-Map"


@dataclass(frozen=True)
class CoFlatMapSpec(OperatorSpec):
    """Two inputs, any number of records for each record."""

    function: Any

    kind: ClassVar[str] = "Co-Flat Map"


@dataclass(frozen=True)
class CoProcessSpec(OperatorSpec):
    """Two inputs with a CoProcessFunction or a KeyedCoProcessFunction."""

    function: Any

    kind: ClassVar[str] = "Co-Process"


@dataclass(frozen=True)
class BroadcastProcessSpec(OperatorSpec):
    """A stream, and a broadcast stream as second input, with a (Keyed)BroadcastProcessFunction.

    `descriptors` are those of the broadcast states. With `broadcast_first`, in batch mode, all of
    the broadcast input comes before the other one.
    """

    function: Any
    descriptors: tuple[Any, ...]
    broadcast_first: bool = False

    kind: ClassVar[str] = "Co-Process-Broadcast"


@dataclass(frozen=True)
class AsyncSpec(OperatorSpec):
    """Awaits a coroutine for each record, many at once."""

    function: Any
    timeout_ms: int
    capacity: int
    ordered: bool
    retry: Any

    kind: ClassVar[str] = "Async"


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """Assigns timestamps and makes watermarks in the middle of a stream."""

    strategy: Any
    interval_ms: int = 200

    kind: ClassVar[str] = "Timestamps/Watermarks"


@dataclass(frozen=True)
class SinkSpec(OperatorSpec):
    """Writes records.

    Attributes:
        sink: A `headrace.datastream.connectors.base.Sink`.
        parts: What plans show it as, if not as one operator: a writer, and maybe a committer.
    """

    sink: Any
    parts: tuple[str, ...] = ()

    kind: ClassVar[str] = "Sink"


@dataclass(frozen=True)
class WindowSpec(OperatorSpec):
    """Groups records of a key into windows and computes a function of each.

    The content of a window is what `reduce` or `aggregate` makes of its records, or the records
    themselves; `function` turns it into results, or the content is the result where there is none.
    `tag(input_index, value)` makes the records of the windows where there are two inputs.
    """

    assigner: Any
    trigger: Any
    reduce: Any = None
    aggregate: Any = None
    function: Any = None
    evictor: Any = None
    allowed_lateness_ms: int = 0
    late_tag: Any = None
    tag: Any = None

    kind: ClassVar[str] = "Window"


@dataclass(frozen=True)
class IntervalJoinSpec(OperatorSpec):
    """Pairs records of two keyed inputs with `lower_ms <= right time - left time <= upper_ms`."""

    function: Any
    lower_ms: int
    upper_ms: int
    left_late_tag: Any = None
    right_late_tag: Any = None

    kind: ClassVar[str] = "Interval Join"
