"""Specs of the operators on rows; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.codegen.column_calc import ColumnCalc
from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.plan.expressions import Schema
from headrace.sql.plan.patterns import PatternVariable, Reference
from headrace.sql.types import DataType, DecimalType

_PACKAGE = "headrace.sql.operators"


class Emission(Enum):
    """When an operator whose results change tells the next one."""

    EVERY_CHANGE = "after each row"
    NET_CHANGE = "at the end of an epoch"
    FINAL = "when the input has ended, without kinds: batch mode"


@dataclass(frozen=True)
class CalcSpec(OperatorSpec):
    """Filter and projection; `columns` says how columns are filtered, if they can be."""

    code: GeneratedCode
    columns: ColumnCalc | None = None

    kind: ClassVar[str] = "Calc"
    operator: ClassVar[str] = f"{_PACKAGE}.calc:CalcOperator"


@dataclass(frozen=True)
class WatermarkSpec(OperatorSpec):
    """Watermarks of a column; without code those of the source stay.

    `follows` says that a later time never gives an earlier watermark, as `ts - INTERVAL '5' SECOND`
    does: then only the latest row is looked at. With `rise_ms` a watermark comes after each row by
    which it has risen by more than that, rather than after each batch.
    """

    column: int
    code: GeneratedCode | None
    idle_timeout_ms: int = 0
    follows: bool = False
    rise_ms: int | None = None

    kind: ClassVar[str] = "WatermarkAssigner"
    operator: ClassVar[str] = f"{_PACKAGE}.watermark:WatermarkOperator"


@dataclass(frozen=True)
class LocalAggregateSpec(OperatorSpec):
    """The part of a group aggregate before the exchange: `(key, accumulator)` comes out.

    `places` says how accumulators are computed of columns, if they can be.
    """

    code: AggregateCode
    key: tuple[int, ...]
    places: tuple[ColumnPlace, ...] | None = None

    kind: ClassVar[str] = "LocalGroupAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.groups.aggregate:LocalAggregateOperator"


@dataclass(frozen=True)
class ColumnsAggregateSpec(LocalAggregateSpec):
    """The same for Arrow batches of Spark.

    Attributes:
        width: How many columns the rows have.
        positions: Which of them the batches have.
    """

    width: int = 0
    positions: tuple[int, ...] = ()

    imports: ClassVar[tuple[str, ...]] = ("pyarrow.acero",)
    operator: ClassVar[str] = f"{_PACKAGE}.groups.aggregate:ColumnsAggregateOperator"


@dataclass(frozen=True)
class GroupAggregateSpec(OperatorSpec):
    """A group aggregate that emits what changed.

    Attributes:
        code: How aggregates are computed.
        keys: How many columns the key has.
        merges: Whether accumulators of a local phase come in, rather than rows.
        retracts: Whether rows may be taken back.
        emission: When results come out.
        ttl_ms: How long the state of a key is kept; 0 is for ever.
        always: Whether there is a result without input (no keys, batch mode).
    """

    code: AggregateCode
    keys: int
    merges: bool = False
    retracts: bool = False
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0
    always: bool = False

    kind: ClassVar[str] = "GroupAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.groups.aggregate:GroupAggregateOperator"


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
    operator: ClassVar[str] = f"{_PACKAGE}.windows.aggregate:LocalWindowAggregateOperator"


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
    operator: ClassVar[str] = f"{_PACKAGE}.windows.aggregate:WindowAggregateOperator"


@dataclass(frozen=True)
class SegmentAggregateSpec(OperatorSpec):
    """What Spark's JVM has aggregated, as accumulators by key, or by key and slice.

    Attributes:
        keys: How many columns the key has.
        empty: What stands for NULL in each place of an accumulator.
        windows: Whether the column after the key is the end of a slice, and the last column
            the watermark of the rows.
        gap: That of sessions; then two more columns with the first and the last time of the rows
            are before the watermark, and parts of sessions come out.
    """

    keys: int
    empty: tuple[Any, ...]
    windows: bool = False
    gap: int | None = None

    kind: ClassVar[str] = "SegmentAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.groups.segment_aggregate:SegmentAggregateOperator"


@dataclass(frozen=True)
class LocalSessionAggregateSpec(OperatorSpec):
    """The part of an aggregate of sessions before the exchange: parts of sessions come out."""

    code: AggregateCode
    key: tuple[int, ...]
    gap: int
    time: int

    kind: ClassVar[str] = "LocalSessionAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.windows.local_session:LocalSessionAggregateOperator"


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
    operator: ClassVar[str] = f"{_PACKAGE}.windows.session_aggregate:SessionAggregateOperator"


@dataclass(frozen=True)
class SessionTableSpec(OperatorSpec):
    """Adds window_start, window_end and window_time of their session to rows."""

    gap: int
    time: int
    event_time: bool = True
    zone: str | None = None

    kind: ClassVar[str] = "WindowTableFunction"
    operator: ClassVar[str] = f"{_PACKAGE}.windows.session_table:SessionTableOperator"


@dataclass(frozen=True)
class RowWindowAggregateSpec(OperatorSpec):
    """Aggregates over the last rows of a key, every `slide` rows."""

    code: AggregateCode
    keys: int
    size: int
    slide: int

    kind: ClassVar[str] = "RowWindowAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.windows.row_aggregate:RowWindowAggregateOperator"


@dataclass(frozen=True)
class WindowTableSpec(OperatorSpec):
    """Adds window_start, window_end and window_time to rows."""

    slices: WindowSlices
    time: int
    event_time: bool = True

    kind: ClassVar[str] = "WindowTableFunction"
    operator: ClassVar[str] = f"{_PACKAGE}.windows.table:WindowTableOperator"


@dataclass(frozen=True)
class OverSpec(OperatorSpec):
    """Adds aggregates of the rows before each row."""

    code: AggregateCode
    time: int
    event_time: bool
    rows: bool
    start: int | None
    ttl_ms: int = 0

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.over.by_time:OverOperator"


@dataclass(frozen=True)
class MatchValues:
    """Code over values of the rows of a match; `aggregates` stand where references have calls."""

    references: tuple[Reference, ...]
    aggregates: tuple[AggregateCode | None, ...]
    code: GeneratedCode


@dataclass(frozen=True)
class MatchSpec(OperatorSpec):
    """MATCH_RECOGNIZE; see `plan.match.Match`. Conditions keep rows, `measures` makes new ones."""

    partition: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    event_time: bool
    pattern: tuple[PatternVariable, ...]
    conditions: tuple[MatchValues | None, ...]
    measures: MatchValues
    skip: str
    skip_to: int | None
    within_ms: int | None

    kind: ClassVar[str] = "Match"
    operator: ClassVar[str] = f"{_PACKAGE}.match:MatchOperator"

    @property
    def time(self) -> int:
        """The column that orders rows."""
        return self.order[0][0]


@dataclass(frozen=True)
class SortedOverSpec(OperatorSpec):
    """Adds functions of the rows around each row, once all rows are there (batch mode).

    Attributes:
        code: How the aggregates among the functions are computed.
        order: Column, descending, nulls first.
        rows: Whether the ends of the frame count rows, rather than values of the first column.
        start: Before the current row; None is the first one.
        end: Behind the current row; None is the last one.
        functions: One for each new column: None for the next aggregate of `code`, or name, column
            of the argument and constants of a function of the row's place.
    """

    code: AggregateCode
    order: tuple[tuple[int, bool, bool], ...]
    rows: bool
    start: int | None
    end: int | None
    functions: tuple[tuple[str, int | None, tuple[Any, ...]] | None, ...]

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.over.sorted:SortedOverOperator"


@dataclass(frozen=True)
class AnyOrderOverSpec(SortedOverSpec):
    """The same on a stream, of the rows that are there: results change when rows come between.

    Attributes:
        changes: Whether rows end with their kind.
        emission: When results come out.
        ttl_ms: How long rows of a key are kept after the last change; 0 is for ever.
    """

    changes: bool = False
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.over.sorted:AnyOrderOverOperator"


@dataclass(frozen=True)
class RankSpec(OperatorSpec):
    """The first rows of each key in an order."""

    order: tuple[tuple[int, bool, bool], ...]
    start: int
    end: int
    numbered: bool
    changelog: bool
    function: str = "ROW_NUMBER"
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "Rank"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.rank:RankOperator"


@dataclass(frozen=True)
class WindowRankSpec(OperatorSpec):
    """The first rows of each key in every window, when it is over."""

    order: tuple[tuple[int, bool, bool], ...]
    start: int
    end: int
    numbered: bool
    window_end: int
    zone: str | None = None

    kind: ClassVar[str] = "WindowRank"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.rank:WindowRankOperator"


@dataclass(frozen=True)
class LocalRankSpec(OperatorSpec):
    """The part of Top-N before the exchange, over rows that are only added.

    Attributes:
        key: Columns that rows are ranked within.
        order: Column, descending, nulls first.
        end: How many rows of a key are wanted.
        window_end: The column with the end of a row's window, if the ranking is within windows.
        zone: That of the clock that windows follow.
        latest: Whether of rows that are equal in the order the latest ones come first.
    """

    key: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    end: int
    window_end: int | None = None
    zone: str | None = None
    latest: bool = False

    kind: ClassVar[str] = "LocalRank"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.local_rank:LocalRankOperator"


@dataclass(frozen=True)
class SegmentRankSpec(OperatorSpec):
    """The same for columns of Spark's JVM, behind which there may be one with the watermark.

    Attributes:
        rank: What is done with rows.
        width: How many columns a row has.
        positions: Where the columns of a batch belong.
        groups: Columns of a batch that rows are ranked within.
        order: Columns of a batch, descending, nulls first.
        watermark: Whether the last column of a batch is the watermark of a row.
    """

    rank: LocalRankSpec
    width: int
    positions: tuple[int, ...]
    groups: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    watermark: bool

    kind: ClassVar[str] = "SegmentRank"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.local_rank:SegmentRankOperator"


@dataclass(frozen=True)
class FirstRowSpec(OperatorSpec):
    """The first row of each key by event time."""

    order: int
    ttl_ms: int = 0

    kind: ClassVar[str] = "Deduplicate"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.first_row:FirstRowOperator"


@dataclass(frozen=True)
class DeduplicateSpec(OperatorSpec):
    """The first row of each key that comes, or the last one, perhaps by event time."""

    order: int
    last: bool
    event_time: bool
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "Deduplicate"
    operator: ClassVar[str] = f"{_PACKAGE}.ranking.deduplicate:DeduplicateOperator"


@dataclass(frozen=True)
class SortSpec(OperatorSpec):
    """Rows in an order: at the end, or by event time as the watermark passes."""

    order: tuple[tuple[int, bool, bool], ...]
    time: int | None = None
    offset: int = 0
    fetch: int | None = None

    kind: ClassVar[str] = "Sort"
    operator: ClassVar[str] = f"{_PACKAGE}.order.sort:SortOperator"


@dataclass(frozen=True)
class LimitSpec(OperatorSpec):
    """The first rows that come."""

    offset: int
    fetch: int | None
    changelog: bool = False
    every_change: bool = False

    kind: ClassVar[str] = "Limit"
    operator: ClassVar[str] = f"{_PACKAGE}.order.sort:LimitOperator"


@dataclass(frozen=True)
class SetOperationSpec(OperatorSpec):
    """INTERSECT and EXCEPT, over how often a row is on each side."""

    operation: str
    all: bool
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "SetOperation"
    operator: ClassVar[str] = f"{_PACKAGE}.set_operation:SetOperationOperator"


@dataclass(frozen=True)
class HashableRowsSpec(OperatorSpec):
    """Gives maps a hash, in columns of these types."""

    columns: tuple[tuple[int, DataType], ...]

    kind: ClassVar[str] = "HashableRows"
    operator: ClassVar[str] = f"{_PACKAGE}.hashable_rows:HashableRowsOperator"


@dataclass(frozen=True)
class ToChangelogSpec(OperatorSpec):
    """Changes as rows with a code; `changes` says whether rows end with their kind."""

    codes: tuple[str | None, ...]
    changes: bool

    kind: ClassVar[str] = "ToChangelog"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.codes:ToChangelogOperator"


@dataclass(frozen=True)
class FromChangelogSpec(OperatorSpec):
    """Rows with a code in the column `op` as changes; `kinds` are those of the codes."""

    op: int
    kinds: tuple[tuple[str, int], ...]

    kind: ClassVar[str] = "FromChangelog"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.codes:FromChangelogOperator"


@dataclass(frozen=True)
class ExpandSpec(OperatorSpec):
    """Each row once for every grouping set."""

    sets: tuple[tuple[tuple[bool, ...], int], ...]
    changelog: bool

    kind: ClassVar[str] = "Expand"
    operator: ClassVar[str] = f"{_PACKAGE}.groups.expand:ExpandOperator"


@dataclass(frozen=True)
class CorrelateSpec(OperatorSpec):
    """Rows with the rows that a function makes of them.

    Pairs have to fulfil the condition, with a number at their end, before rows have no partner.
    """

    arguments: GeneratedCode
    function: Any
    width: int
    outer: bool
    changelog: bool
    condition: GeneratedCode | None = None

    kind: ClassVar[str] = "Correlate"
    operator: ClassVar[str] = f"{_PACKAGE}.correlate:CorrelateOperator"


@dataclass(frozen=True)
class BatchedCallsSpec(OperatorSpec):
    """Adds the results of functions that take many rows at once.

    Attributes:
        arguments: For each function the code that makes a row of its arguments.
        functions: Functions of a list of such rows.
        changelog: Whether rows end with their kind.
        size: The most rows that a function gets at once.
        places: For each function the columns that are its arguments, if all functions take columns
            and no argument has to be computed.
    """

    arguments: tuple[GeneratedCode, ...]
    functions: tuple[Any, ...]
    changelog: bool
    size: int
    places: tuple[tuple[int, ...], ...] | None = None

    kind: ClassVar[str] = "BatchedCalls"
    operator: ClassVar[str] = f"{_PACKAGE}.batched_calls:BatchedCallsOperator"


@dataclass(frozen=True)
class DecodeSpec(OperatorSpec):
    """Messages to rows."""

    decoder: Any

    imports: ClassVar[tuple[str, ...]] = ("pyarrow.csv", "pyarrow.json", "pyarrow.acero")
    kind: ClassVar[str] = "Decode"
    operator: ClassVar[str] = f"{_PACKAGE}.coding:DecodeOperator"


@dataclass(frozen=True)
class ConstraintSpec(OperatorSpec):
    """Looks at columns with constraints.

    Attributes:
        names: Of all columns.
        not_null: Columns without NULL: it is an error, or with `drop` there is no row.
        checked: Columns with a length, or with constraints inside, and their types.
        lengths: ERROR fails at a wrong length, TRIM_PAD makes the value fit.
        collections: Whether constraints inside of arrays and maps count.
    """

    names: tuple[str, ...]
    not_null: tuple[int, ...]
    checked: tuple[tuple[int, DataType], ...] = ()
    lengths: str = "IGNORE"
    collections: bool = False
    drop: bool = False

    kind: ClassVar[str] = "ConstraintEnforcer"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.constraints:ConstraintOperator"

    @classmethod
    def of_decimals(cls, schema: Schema) -> ConstraintSpec | None:
        """For results: of what is NOT NULL, only a decimal with too many digits may be NULL."""
        columns = tuple(
            i
            for i, f in enumerate(schema)
            if isinstance(f.type, DecimalType) and not f.type.is_nullable
        )
        return cls(tuple(schema.names), columns) if columns else None


@dataclass(frozen=True)
class ChangelogNormalizeSpec(OperatorSpec):
    """All changes of rows whose newest one of each key comes in."""

    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "ChangelogNormalize"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.normalize:ChangelogNormalizeOperator"


@dataclass(frozen=True)
class UpsertMaterializeSpec(OperatorSpec):
    """The row that counts for each key of a sink."""

    ttl_ms: int = 0

    kind: ClassVar[str] = "SinkMaterializer"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.upsert_materialize:UpsertMaterializeOperator"


@dataclass(frozen=True)
class LastChangesSpec(OperatorSpec):
    """The last row of each key in an epoch; `keys` are the columns of the key."""

    keys: tuple[int, ...]

    kind: ClassVar[str] = "LastChanges"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.last_changes:LastChangesOperator"


@dataclass(frozen=True)
class ResolveConflictsSpec(OperatorSpec):
    """The first row of each key of a sink, or an error.

    Attributes:
        names: Of the columns of the key, for the error.
        row_key: The columns that name a row of the query; None: all of them.
        fails: Whether several rows are an error, rather than the first one counting.
        changes: Whether rows end with their kind.
        ttl_ms: How long the row of a key is kept; 0 is for ever.
    """

    names: tuple[str, ...]
    row_key: tuple[int, ...] | None
    fails: bool
    changes: bool
    ttl_ms: int = 0

    kind: ClassVar[str] = "ConflictResolver"
    operator: ClassVar[str] = f"{_PACKAGE}.changes.resolve_conflicts:ResolveConflictsOperator"


@dataclass(frozen=True)
class EncodeSpec(OperatorSpec):
    """Rows to messages."""

    encoder: Any

    kind: ClassVar[str] = "Encode"
    operator: ClassVar[str] = f"{_PACKAGE}.coding:EncodeOperator"


@dataclass(frozen=True)
class ExternalRowsSpec(OperatorSpec):
    """Internal rows to `Row` objects, with a timestamp of the column `rowtime`.

    Of `upserts`, no row before an update comes out.
    """

    names: tuple[str, ...]
    types: tuple[Any, ...]
    changelog: bool
    zone: str
    rowtime: int | None = None
    upserts: bool = False

    kind: ClassVar[str] = "TableToDataStream"
    operator: ClassVar[str] = f"{_PACKAGE}.boundary:ExternalRowsOperator"


@dataclass(frozen=True)
class InternalRowsSpec(OperatorSpec):
    """`Row` objects, tuples and the like to internal rows.

    `rowtimes` are columns at the end that have the record's timestamp: True where they show it on
    the session's clock.
    """

    names: tuple[str, ...]
    types: tuple[Any, ...]
    changelog: bool
    zone: str
    whole: bool = False
    rowtimes: tuple[bool, ...] = ()

    kind: ClassVar[str] = "DataStreamToTable"
    operator: ClassVar[str] = f"{_PACKAGE}.boundary:InternalRowsOperator"
