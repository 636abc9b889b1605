"""Tables of streams, and streams of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.errors import SqlError
from headrace.common.typeinfo import TypeInformation
from headrace.common.types import Row, row_of
from headrace.datastream.data_stream import DataStream
from headrace.datastream.operator_settings import record_type
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import TableEntry
from headrace.sql.connectors.base import TableSink, TableSource
from headrace.sql.connectors.streams import external_rows, internal_rows
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field
from headrace.sql.plan.expressions import Schema as BoundSchema
from headrace.sql.session.session import Session
from headrace.sql.session.sink_types import check_types, mismatch
from headrace.sql.session.table_plan import with_time
from headrace.sql.statements import ColumnDefinition, WatermarkDefinition
from headrace.sql.table_api.expression_nodes import ExpressionBase, node_of
from headrace.sql.table_api.stream_types import data_type_of, type_of_rows
from headrace.sql.types import DataType

__all__ = ["check_stream_type", "described", "stream_plan", "table_stream"]

_INSERTS = ChangelogMode.insert_only()
_STREAM_SINK = "Unregistered_DataStream_Sink"


@dataclass
class _StreamSource(TableSource):
    stream: DataStream[Any]
    schema: BoundSchema
    zone: str
    whole: bool
    append_only: bool = True
    upsert: bool = False
    rowtimes: tuple[bool, ...] = ()

    @property
    def bounded(self) -> bool:
        return self.stream.is_bounded()

    def __post_init__(self) -> None:
        # As in Flink, rows that replace each other need nothing but their key to be deleted.
        self.deletes_by_key = self.upsert

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        changelog = not self.append_only
        return internal_rows(
            self.stream, self.schema, changelog, self.zone, self.whole, self.rowtimes
        )


class _StreamSink(TableSink):
    """Makes `Row` objects of rows, each with its kind."""

    refusal = "use to_changelog_stream()"

    def __init__(self, mode: ChangelogMode | None, zone: str, key: tuple[int, ...]) -> None:
        self.accepts_updates = mode != ChangelogMode.insert_only()
        self.upsert = self.deletes_by_key = mode is not None and mode.replaces
        self._any = mode is None
        self._zone = zone
        self._upsert_key = key if self.upsert else None

    def upserts(self, changes: bool) -> bool:
        """As in Flink, rows of any kind must not replace each other by another key."""
        return self.upsert or (self._any and changes)

    def attach(self, stream: DataStream[Any], schema: BoundSchema, changelog: bool) -> Any:
        type_info = type_of_rows(schema)
        return external_rows(stream, schema, changelog, self._zone, self._upsert_key, type_info)


def stream_plan(
    session: Session,
    stream: DataStream[Any],
    declared: TableEntry | None = None,
    names: Sequence[ExpressionBase] = (),
    mode: ChangelogMode = _INSERTS,
) -> n.Node:
    """The plan that reads a stream.

    Args:
        session: Where the plan belongs.
        stream: The stream.
        declared: Columns, watermark and key of a schema.
        names: Columns of the stream to take, perhaps with another name.
        mode: Which changes rows of the stream are.
    """
    if declared is None:
        declared = _time_columns(names)
    own = data_type_of(record_type(stream))
    whole = not isinstance(own, t.RowType)
    row = own if isinstance(own, t.RowType) else t.RowType([t.RowField("f0", own)])
    if declared is not None and _names_fields(declared):
        row = _declared_row(declared, own)
        whole = whole and not isinstance(own, t.RawType)
    schema = BoundSchema(tuple(Field(f.name, f.data_type) for f in row.fields))
    times = () if declared is None else _rowtime_fields(declared)
    # As in Flink, `.rowtime` is the clock of UTC, and a declared TIMESTAMP that of the session.
    local = tuple(isinstance(f.type, t.TimestampType) and f.name != _ROWTIME for f in times)
    grows = mode == ChangelogMode.insert_only()
    source = _StreamSource(stream, schema, session.zone, whole, grows, mode.replaces, local)
    read = BoundSchema((*schema, *times))
    key = _key_of(declared, read)
    plan: n.Node = n.Scan(read, ("Unregistered_DataStream",), source, primary_key=key)
    if mode.replaces:
        if not key:
            raise SqlError(
                "The stream's changelog mode contains UPDATE_AFTER but no UPDATE_BEFORE. This "
                "requires defining a primary key constraint on the table: primary_key(...) of its "
                "Schema"
            )
        plan = n.ChangelogNormalize(read, plan, key)
    if declared is not None:
        plan = with_time(plan, _completed(declared, schema), session.binding())
    return _named(plan, names) if names else plan


def described(declared: TableEntry, stream: DataStream[Any], plan: n.Node) -> TableEntry | None:
    """The schema that a stream's table shows: the one declared, if it has all columns and fields.

    Its expressions stay as the program wrote them.
    """
    own = data_type_of(record_type(stream))
    fields = own.fields if isinstance(own, t.RowType) else []
    declared = _completed(declared, (Field(f.name, f.data_type) for f in fields))
    names = [c.name for c in declared.columns]
    if names != list(plan.schema.names) or not {f.name for f in fields} <= set(names):
        return None
    columns = tuple(replace(c, expression_is_sql=False) for c in declared.columns)
    watermark = declared.watermark and replace(declared.watermark, is_sql=False)
    return replace(declared, columns=columns, watermark=watermark)


def check_stream_type(schema: BoundSchema, info: TypeInformation) -> None:
    """Refuses a type that rows of a table do not have, column by column."""
    own = data_type_of(info)
    if isinstance(own, t.RowType):
        sink = BoundSchema(tuple(Field(f.name, f.data_type) for f in own.fields))
        if len(sink) != len(schema):
            raise mismatch(_STREAM_SINK, "Different number of columns.", schema, sink)
        check_types(_STREAM_SINK, schema, schema.columns(), sink)


def _key_of(declared: TableEntry | None, schema: BoundSchema) -> tuple[int, ...]:
    """Columns of the primary key, by which updates replace rows."""
    return () if declared is None else tuple(map(schema.names.index, declared.primary_key))


def _names_fields(declared: TableEntry) -> bool:
    """Whether a schema says which fields of the stream there are."""
    return any(c.type is not None and not c.metadata for c in declared.columns)


def _rowtime_fields(declared: TableEntry) -> tuple[Field, ...]:
    """The columns with the timestamps of records; streams have no other metadata."""
    found = []
    for column in declared.columns:
        if not column.metadata:
            continue
        key = column.metadata_key or column.name
        if key != "rowtime":
            raise SqlError(
                f"Invalid metadata key '{key}' in column '{column.name}' of a stream. The only key "
                "is 'rowtime', the timestamp of a record"
            )
        if not isinstance(column.type, t.TimestampType | t.LocalZonedTimestampType):
            raise SqlError(
                f"Invalid data type for metadata column '{column.name}': 'rowtime' is "
                "TIMESTAMP_LTZ(3)"
            )
        found.append(Field(column.name, column.type))
    return tuple(found)


def _declared_row(declared: TableEntry, own: DataType) -> t.RowType:
    """The stream's fields with declared types; those of a stream without types as declared."""
    types = {c.name: c.type for c in declared.columns if c.type is not None and not c.metadata}
    if not isinstance(own, t.RowType):
        return t.RowType([t.RowField(name, type_) for name, type_ in types.items()])
    unknown = [name for name in types if name not in own.names]
    if unknown:
        raise SqlError(
            f"Unable to find a field named '{unknown[0]}' in the physical data type derived from "
            f"the stream for schema declaration{suggestion(unknown[0], own.names)} The fields are: "
            f"{', '.join(own.names)}"
        )
    return t.RowType([t.RowField(f.name, types.get(f.name, f.data_type)) for f in own.fields])


def _completed(declared: TableEntry, fields: Iterable[Field]) -> TableEntry:
    """A declaration that names no field of the stream has all of them in front."""
    if _names_fields(declared):
        return declared
    own = (ColumnDefinition(f.name, f.type) for f in fields)
    return replace(declared, columns=(*own, *declared.columns))


_ROWTIME, _PROCTIME = "$rowtime", "$proctime"
"""The expressions `.rowtime` and `.proctime`, and the columns that they stand for."""


def _time_columns(names: Sequence[ExpressionBase]) -> TableEntry | None:
    """The columns that time attributes among expressions need besides the stream's own."""
    wanted = {node.function for node in map(_without_alias, names) if isinstance(node, x.Apply)}
    columns: list[ColumnDefinition] = []
    watermark: WatermarkDefinition | None = None
    if _ROWTIME in wanted:
        time = t.TimestampType(3)
        columns.append(ColumnDefinition(_ROWTIME, time, metadata=True, metadata_key="rowtime"))
        text = "SOURCE_WATERMARK"
        watermark = WatermarkDefinition((_ROWTIME,), x.Apply(text, ()), f"{text}()")
    if _PROCTIME in wanted:
        columns.append(ColumnDefinition(_PROCTIME, expression=x.Apply("PROCTIME", ())))
    return TableEntry(tuple(columns), watermark) if columns else None


def _without_alias(expression: ExpressionBase) -> x.Node:
    node = node_of(expression)
    return node.value if isinstance(node, x.Alias) else node


def _named(plan: n.Node, names: Sequence[ExpressionBase]) -> n.Node:
    """Columns in an order and with names that expressions give."""
    columns, labels, known = [], [], plan.schema.names
    count = sum(name not in (_ROWTIME, _PROCTIME) for name in known)
    for position, expression in enumerate(names):
        node, time = _without_alias(expression), ""
        if isinstance(node, x.Apply) and node.function in (_ROWTIME, _PROCTIME):
            time, node = node.function, node.args[0]
        if not isinstance(node, x.Name):
            raise SqlError(f"{expression}: name a column with col(), and alias() for a new name")
        name = node.parts[0]
        index = known.index(time or name) if (time or name) in known else position
        if index >= count and not time:
            raise SqlError(f"the stream has {count} fields, so there is no {name!r}")
        column = plan.schema.column(index)
        # As in Flink, which declares them so where expressions name columns.
        columns.append(replace(column, type=column.type.nullable()) if time else column)
        whole = node_of(expression)
        labels.append(whole.name if isinstance(whole, x.Alias) else name)
    return n.Project.of(plan, columns, labels)


def table_stream(
    session: Session,
    plan: n.Node,
    mode: ChangelogMode | None = None,
    declared: TableEntry | None = None,
) -> DataStream[Any]:
    """The stream of a table's rows.

    Args:
        session: Where the plan belongs.
        plan: The table.
        mode: Which changes rows may be; those that they are, if None.
        declared: Columns of a schema, if they have other names or types, and perhaps a key.
    """
    times: list[int] = []
    if declared is not None:
        plan, times = _as_declared(session, plan, declared)
    name = (_STREAM_SINK,)
    key = _key_of(declared, plan.schema)
    target = _StreamSink(mode, session.zone, key)
    sink = n.Sink(plan.schema, plan, name, target, _declared_schema(plan, declared), key)
    session.check_sink(sink)
    translator = session.translator()
    rows: DataStream[Any] = DataStream(translator.env, translator.translate(sink)[0])
    return rows.map(lambda row: _without(row, times)) if times else rows


def _declared_schema(plan: n.Node, declared: TableEntry | None) -> BoundSchema:
    """The columns of a plan as a schema declares them, which may be NOT NULL."""
    if declared is None:
        return plan.schema
    stored = [c for c in declared.columns if c.expression is None]
    pairs = zip(plan.schema, stored, strict=True)
    return BoundSchema(tuple(replace(f, type=c.type or f.type) for f, c in pairs))


def _as_declared(session: Session, plan: n.Node, declared: TableEntry) -> tuple[n.Node, list[int]]:
    """A plan with the names and types of a schema, and which columns are times of records."""
    _rowtime_fields(declared)
    columns = [c for c in declared.columns if c.expression is None]
    times = [i for i, c in enumerate(columns) if c.metadata]
    types = [c.type for c in columns]
    for i in times:
        # A cast would make an ordinary column of event time.
        types[i] = plan.schema[i].type if i < len(plan.schema) else types[i]
    fields = [Field(c.name, type_) for c, type_ in zip(columns, types, strict=True) if type_]
    return session.fitted(plan, BoundSchema(tuple(fields)), (), _STREAM_SINK, {}), times


def _without(row: Row, left_out: Sequence[int]) -> Row:
    kept = [i for i in range(len(row)) if i not in left_out]
    names = row.get_field_names() or []
    return row_of([row[i] for i in kept], [names[i] for i in kept], row.get_row_kind())
