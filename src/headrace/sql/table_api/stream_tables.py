"""Tables of streams, and streams of tables."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import TableEntry
from headrace.sql.connectors.base import TableSource
from headrace.sql.connectors.streams import external_rows, internal_rows
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import Field
from headrace.sql.plan.expressions import Schema as BoundSchema
from headrace.sql.rules import optimize
from headrace.sql.session.session import Session
from headrace.sql.session.table_plan import with_time
from headrace.sql.table_api.expression_nodes import ExpressionBase
from headrace.sql.table_api.table_binding import TableBinding
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["data_type_of", "stream_plan", "table_stream"]

_BASIC = {
    BasicType.STRING: DataTypes.STRING(),
    BasicType.BYTE: DataTypes.TINYINT(),
    BasicType.BOOLEAN: DataTypes.BOOLEAN(),
    BasicType.SHORT: DataTypes.SMALLINT(),
    BasicType.INT: DataTypes.INT(),
    BasicType.LONG: DataTypes.BIGINT(),
    BasicType.FLOAT: DataTypes.FLOAT(),
    BasicType.DOUBLE: DataTypes.DOUBLE(),
    BasicType.CHAR: DataTypes.CHAR(1),
    BasicType.BIG_INT: DataTypes.DECIMAL(38, 0),
    BasicType.BIG_DEC: DataTypes.DECIMAL(38, 18),
}


def data_type_of(info: TypeInformation) -> DataType:
    """The SQL type of a stream's type."""
    if isinstance(info, BasicTypeInfo):
        found = _BASIC.get(info._basic_type)
        if found is not None:
            return found
    if isinstance(info, RowTypeInfo | TupleTypeInfo):
        types = [data_type_of(i) for i in info.get_field_types()]
        names = [f"f{i}" for i in range(len(types))]
        if isinstance(info, RowTypeInfo):
            names = list(info.get_field_names())
        return t.RowType([t.RowField(a, b) for a, b in zip(names, types, strict=True)])
    if isinstance(info, PrimitiveArrayTypeInfo):
        element = data_type_of(info.element_type)
        if isinstance(element, t.TinyIntType):
            return DataTypes.BYTES()
        return DataTypes.ARRAY(element.not_null())
    if isinstance(info, ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo):
        return DataTypes.ARRAY(data_type_of(info.element_type))
    if isinstance(info, MapTypeInfo):
        return DataTypes.MAP(data_type_of(info._key_type_info), data_type_of(info._value_type_info))
    name = str(info).upper()
    for word, made in (
        ("TIMESTAMP", DataTypes.TIMESTAMP(9)),
        ("LOCALDATETIME", DataTypes.TIMESTAMP(9)),
        ("INSTANT", DataTypes.TIMESTAMP_LTZ(9)),
        ("DATE", DataTypes.DATE()),
        ("TIME", DataTypes.TIME()),
    ):
        if word in name:
            return made
    return t.RawType()


@dataclass
class _StreamSource(TableSource):
    stream: DataStream[Any]
    schema: BoundSchema
    zone: str
    whole: bool
    append_only: bool = True
    rowtimes: tuple[bool, ...] = ()

    @property
    def bounded(self) -> bool:
        return self.stream.is_bounded()

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        changelog = not self.append_only
        return internal_rows(
            self.stream, self.schema, changelog, self.zone, self.whole, self.rowtimes
        )


def stream_plan(
    session: Session,
    stream: DataStream[Any],
    declared: TableEntry | None = None,
    names: Sequence[ExpressionBase] = (),
    kinds: Set[RowKind] = frozenset({RowKind.INSERT}),
) -> n.Node:
    """The plan that reads a stream.

    Args:
        session: Where the plan belongs.
        stream: The stream.
        declared: Columns, watermark and key of a schema.
        names: Columns of the stream to take, perhaps with another name.
        kinds: Which changes rows of the stream are.
    """
    own = data_type_of(stream.get_type())
    whole = not isinstance(own, t.RowType)
    row = own if isinstance(own, t.RowType) else t.RowType([t.RowField("f0", own)])
    if declared is not None and _names_fields(declared):
        row = _declared_row(declared, own)
        whole = whole and not isinstance(own, t.RawType)
    schema = BoundSchema(tuple(Field(f.name, f.data_type) for f in row.fields))
    times = () if declared is None else _rowtime_fields(declared)
    local = tuple(isinstance(f.type, t.TimestampType) for f in times)
    source = _StreamSource(stream, schema, session.zone, whole, kinds == {RowKind.INSERT}, local)
    read = BoundSchema((*schema, *times))
    key = _key_of(declared, read)
    plan: n.Node = n.Scan(read, ("Unregistered_DataStream",), source, primary_key=key)
    if RowKind.UPDATE_AFTER in kinds and RowKind.UPDATE_BEFORE not in kinds:
        if not key:
            raise SqlError(
                "The stream's changelog mode contains UPDATE_AFTER but no UPDATE_BEFORE. This "
                "requires defining a primary key constraint on the table: primary_key(...) of its "
                "Schema"
            )
        plan = n.ChangelogNormalize(read, plan, key)
    if declared is not None:
        plan = _declared(session, plan, declared, schema)
    return _named(plan, names) if names else plan


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


def _declared(session: Session, plan: n.Node, declared: TableEntry, schema: BoundSchema) -> n.Node:
    """Computed columns and watermark of a schema; columns that it leaves out are the stream's."""
    from headrace.sql.statements import ColumnDefinition

    columns = tuple(declared.columns)
    if not _names_fields(declared):
        columns = (*(ColumnDefinition(f.name, f.type) for f in schema), *columns)
    entry = replace(declared, columns=columns)
    return with_time(plan, entry, session.binding())


def _named(plan: n.Node, names: Sequence[ExpressionBase]) -> n.Node:
    """Columns in an order and with names that expressions give."""
    columns, labels = [], []
    for position, expression in enumerate(names):
        node = expression._node
        label = None
        if isinstance(node, x.Alias):
            label, node = node.name, node.value
        if not isinstance(node, x.Name):
            raise SqlError(f"{expression}: name a column with col(), and alias() for a new name")
        name = node.parts[0]
        known = plan.schema.names
        index = known.index(name) if name in known else position
        if index >= len(known):
            raise SqlError(f"the stream has {len(known)} fields, so there is no {name!r}")
        columns.append(plan.schema.column(index))
        labels.append(label or name)
    return n.Project.of(plan, columns, labels)


def table_stream(
    session: Session, plan: n.Node, changelog: bool, declared: TableEntry | None = None
) -> DataStream[Any]:
    """The stream of a table's rows.

    Args:
        session: Where the plan belongs.
        plan: The table.
        changelog: Whether rows may change.
        declared: Columns of a schema, if they have other names or types.
    """
    times: list[int] = []
    if declared is not None:
        plan, times = _as_declared(session, plan, declared)
    translator = session.translator()
    plan = optimize(plan, reuse=translator.settings.reuse_subplans)
    session.check(plan)
    if not changelog and not session.batch and not is_append_only(plan):
        raise SqlError(
            "Table sink 'Unregistered_DataStream_Sink' doesn't support consuming update and delete "
            "changes; use to_changelog_stream()"
        )
    stream = translator.stream(plan)
    rows = external_rows(stream, plan.schema, translator.takes_changes(plan), session.zone)
    return rows.map(lambda row: _without(row, times)) if times else rows


def _as_declared(session: Session, plan: n.Node, declared: TableEntry) -> tuple[n.Node, list[int]]:
    """A plan with the names and types of a schema, and which columns are times of records."""
    columns = [c for c in declared.columns if c.expression is None]
    if len(columns) != len(plan.schema):
        raise SqlError(
            f"the schema has {len(columns)} columns, but the table has {len(plan.schema)}: "
            f"{', '.join(plan.schema.names)}"
        )
    _rowtime_fields(declared)
    binder = TableBinding(session.binding(), plan).binder
    made = []
    for index, column in enumerate(columns):
        value = plan.schema.column(index)
        # A cast would make an ordinary column of event time.
        assert column.type is not None
        keep = column.metadata or value.type == column.type
        made.append(value if keep else binder.cast(value, column.type))
    times = [i for i, c in enumerate(columns) if c.metadata]
    return n.Project.of(plan, made, [c.name for c in columns]), times


def _without(row: Row, left_out: Sequence[int]) -> Row:
    kept = [i for i in range(len(row)) if i not in left_out]
    names = row.get_field_names() or []
    return row_of([row[i] for i in kept], [names[i] for i in kept], row.get_row_kind())
