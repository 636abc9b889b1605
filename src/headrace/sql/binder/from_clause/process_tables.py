"""Binds calls of process table functions, of SQL and of the Table API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.binder.expressions import ExpressionBinder, column_index
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, Literal, Schema, SortKey, TimeAttribute
from headrace.sql.plan.process_table import GivenTable, ProcessTable
from headrace.sql.types.type_rules import common_type, is_character, is_timestamp
from headrace.sql.types.values import to_internal
from headrace.sql.udf.process.binding import ProcessTableBinding
from headrace.sql.udf.process.hints import ArgumentTrait
from headrace.sql.udf.process.signature import Argument

__all__ = ["DEFAULT", "TableValue", "bind_process_table"]

_UID = re.compile(r"[a-zA-Z_][a-zA-Z-_0-9]*")
_MOST_TABLES = 20


@dataclass(frozen=True)
class TableValue:
    """A table as an argument."""

    plan: n.Node
    partition: tuple[x.Node, ...] = ()
    order: tuple[x.Order, ...] = ()
    span: x.Span | None = None


@dataclass(frozen=True)
class _Default:
    span: x.Span | None = None


DEFAULT = _Default()
"""An argument that is left to what the function declares."""

Value = TableValue | _Default | x.Node
Given = tuple[str | None, Value]
"""An argument, perhaps with its name."""


def bind_process_table(
    context: BindingContext,
    function: ProcessTableBinding,
    name: str,
    given: Sequence[Given],
    span: x.Span | None,
) -> n.Node:
    """The rows of a call; `name` is that of the function."""
    if context.batch:
        raise context.error(
            f"Process table function '{name}' cannot run in batch mode, as in Flink: use streaming "
            "mode",
            span,
        )
    return _Call(context, function, name, given, span).bound()


class _Call:
    """One call while it is bound."""

    def __init__(
        self,
        context: BindingContext,
        function: ProcessTableBinding,
        name: str,
        given: Sequence[Given],
        span: x.Span | None,
    ) -> None:
        self._context = context
        self._function = function
        self._name = name
        self._span = span
        self._given = self._by_name(given)
        self._on_time = self._descriptor("on_time")
        self._constants = ExpressionBinder(context, Scope(context))

    def bound(self) -> n.Node:
        arguments = self._function.signature.arguments
        relations: list[n.Node] = []
        tables: list[GivenTable] = []
        values: list[Expression] = []
        for argument in arguments:
            if argument.is_table:
                plan, table = self._table(argument)
                relations.append(plan)
                tables.append(table)
            else:
                values.append(self._value(argument))
        self._check_tables(relations, tables)
        schema = self._schema(relations, tables)
        node = ProcessTable(
            schema,
            tuple(relations) or (n.Values(Schema(()), ((),)),),
            self._function,
            tuple(tables),
            tuple(values),
            self._uid(tables),
            origin=self._context.excerpt(self._span),
        )
        if not self._function.upserts:
            return node
        # What follows wants to see the rows before updates, too.
        return n.ChangelogNormalize(schema, node, tuple(range(len(tables[0].partition))))

    # Arguments.

    def _by_name(self, given: Sequence[Given]) -> dict[str, Value]:
        """Arguments by name, whether they were given by name or by position."""
        declared = [a.name for a in self._function.signature.arguments] + ["on_time", "uid"]
        found: dict[str, Value] = {}
        for position, (name, value) in enumerate(given):
            if name is None and position >= len(declared):
                raise self._error(f"{self._name} takes {len(declared)} arguments at most", value)
            key = declared[position] if name is None else name
            if key not in declared:
                raise self._error(
                    f"{self._name} has no argument '{key}'{suggestion(key, declared)}", value
                )
            if key in found:
                raise self._error(f"argument '{key}' of {self._name} is given twice", value)
            found[key] = value
        return {key: value for key, value in found.items() if not isinstance(value, _Default)}

    def _descriptor(self, name: str) -> x.Descriptor:
        value = self._given.get(name, x.Descriptor(()))
        if isinstance(value, x.Constant) and value.value is None:
            return x.Descriptor(())
        if not isinstance(value, x.Descriptor):
            raise self._error(f"argument '{name}' is a DESCRIPTOR(column)", value)
        return value

    def _value(self, argument: Argument) -> Expression:
        assert argument.type is not None
        node = self._given.get(argument.name)
        if node is None:
            if not argument.optional:
                raise self._error(f"{self._name} needs the argument '{argument.name}'")
            zone = ZoneInfo(self._context.zone)
            return Literal(argument.type, to_internal(argument.type, zone)(argument.default))
        if not isinstance(node, x.Node) or isinstance(node, x.Descriptor):
            raise self._error(f"argument '{argument.name}' of {self._name} is a value", node)
        value = self._constants.bind(node)
        untyped = isinstance(value, Literal) and value.value is None
        if not untyped and common_type([value.type, argument.type]) is None:
            raise self._error(
                f"argument '{argument.name}' of {self._name} is {argument.type.sql_text()}, not "
                f"{value.type.sql_text()}",
                node,
            )
        return fold(self._constants.coerce(value, argument.type), self._context.zone)

    def _table(self, argument: Argument) -> tuple[n.Node, GivenTable]:
        value = self._given.get(argument.name)
        if not isinstance(value, TableValue):
            raise self._error(
                f"Invalid argument value. Argument '{argument.name}' expects a table to be passed.",
                value,
            )
        if not argument.is_set:
            for clause, words in ((value.partition, "partitioned"), (value.order, "ordered")):
                if clause:
                    raise self._error(
                        f"Only tables with set semantics may be {words}: argument "
                        f"'{argument.name}' of {self._name} has row semantics",
                        clause[0],
                    )
        elif not value.partition and ArgumentTrait.OPTIONAL_PARTITION_BY not in argument.traits:
            raise self._error(
                f"Table argument '{argument.name}' requires a PARTITION BY clause for parallel "
                "processing.",
                value,
            )
        plan = self._typed(argument, value)
        partition = tuple(self._column(plan, node, "PARTITION BY") for node in value.partition)
        order = tuple(
            SortKey(self._column(plan, o.value, "ORDER BY"), o.descending, o.nulls_first)
            for o in value.order
        )
        time = self._time(argument, plan)
        table = GivenTable(argument, tuple(plan.schema.names), partition, order, time)
        self._check_order(table, plan, value)
        return plan, table

    def _typed(self, argument: Argument, value: TableValue) -> n.Node:
        """The table with the columns that the function declares, if it does."""
        wanted = argument.type
        if wanted is None:
            return value.plan
        if not isinstance(wanted, t.RowType):
            raise self._error(f"the type of table argument '{argument.name}' is not a ROW", value)
        schema = value.plan.schema
        given = [f.type for f in schema]
        types = [f.data_type for f in wanted.fields]
        pairs = zip(given, types, strict=False)
        if len(given) != len(types) or any(common_type([a, b]) is None for a, b in pairs):
            shown = ", ".join(f"{f.name} {f.type.sql_text()}" for f in schema)
            raise self._error(
                f"argument '{argument.name}' of {self._name} is a table of {wanted.sql_text()}, "
                f"not of ({shown})",
                value,
            )
        scope = Scope(self._context)
        scope.add(None, schema)
        binder = ExpressionBinder(self._context, scope)
        columns = [binder.coerce(c, w) for c, w in zip(schema.columns(), types, strict=True)]
        return n.Project.of(value.plan, columns, wanted.names)

    def _column(self, plan: n.Node, node: x.Node, clause: str) -> int:
        scope = Scope(self._context)
        scope.add(None, plan.schema)
        try:
            index = column_index(ExpressionBinder(self._context, scope).bind(node))
        except SqlError:
            index = None
        if index is None:
            shown = ".".join(node.parts) if isinstance(node, x.Name) else "expression"
            raise self._error(
                f"Invalid column '{shown}' for {clause} clause. Available columns are: "
                f"[{', '.join(plan.schema.names)}]",
                node,
            )
        return index

    # Time.

    def _time(self, argument: Argument, plan: n.Node) -> int | None:
        """The column of a table that `on_time` names."""
        found = [i for i, f in enumerate(plan.schema) if f.name in self._on_time.names]
        if not found:
            if ArgumentTrait.REQUIRE_ON_TIME in argument.traits:
                raise self._error(
                    f"Table argument '{argument.name}' requires a time attribute. Please provide "
                    "one using the implicit `on_time` argument. For example: myFunction(..., "
                    "on_time => DESCRIPTOR(`my_timestamp`)"
                )
            return None
        if len(found) > 1:
            first, second = (plan.schema[i].name for i in found[:2])
            raise self._error(
                "Ambiguous time attribute found. The `on_time` argument must reference at most one "
                f"column in a table argument. Currently, the columns in `on_time` point to both "
                f"'{first}' and '{second}' in table argument '{argument.name}'.",
                self._on_time,
            )
        field = plan.schema[found[0]]
        if not _can_be_time(field.type):
            raise self._error(
                "Unsupported data type for time attribute. The `on_time` argument must reference a "
                "TIMESTAMP or TIMESTAMP_LTZ column (up to precision 3). However, column "
                f"'{field.name}' in table argument '{argument.name}' has data type "
                f"'{field.type.sql_text()}'.",
                self._on_time,
            )
        return found[0]

    def _check_order(self, table: GivenTable, plan: n.Node, value: TableValue) -> None:
        if not table.order:
            return
        where = f"Invalid ORDER BY clause for table argument '{table.argument.name}'. "
        columns = [k.index for k in table.order]
        for place, column in enumerate(columns):
            if column in columns[:place]:
                raise self._error(
                    f"{where}Column '{plan.schema[column].name}' appears more than once in ORDER "
                    "BY.",
                    value.order[place],
                )
        first = plan.schema[columns[0]]
        if not _can_be_time(first.type):
            raise self._error(
                f"{where}The first ORDER BY column must be a TIMESTAMP or TIMESTAMP_LTZ column (up "
                f"to precision 3). However, column '{first.name}' has data type "
                f"'{first.type.sql_text()}'.",
                value.order[0],
            )
        if table.order[0].descending:
            raise self._error(
                f"{where}The first ORDER BY column on a timestamp column must be in ascending "
                "order.",
                value.order[0],
            )
        if table.time is not None and table.time != columns[0]:
            raise self._error(
                f"{where}When both ORDER BY and the 'on_time' argument are defined, the referenced "
                "timestamp columns must match.",
                value.order[0],
            )

    # The whole call.

    def _check_tables(self, relations: list[n.Node], tables: list[GivenTable]) -> None:
        if len(tables) > _MOST_TABLES:
            raise self._error(
                "Unsupported table argument count. Currently, the number of input tables is "
                f"limited to {_MOST_TABLES}."
            )
        self._check_partitions(relations, tables)
        self._check_times(relations, tables)
        if not self._function.inserts_only and any(
            ArgumentTrait.PASS_COLUMNS_THROUGH in table.argument.traits for table in tables
        ):
            raise self._error(
                "Pass-through columns are not supported for PTFs that produce updates."
            )
        rows = [table.argument.name for table in tables if not table.argument.is_set]
        if self._function.upserts and (rows or not tables):
            raise self._error(
                "PTFs that take table arguments with row semantics don't support upsert output. "
                f"Table argument '{''.join(rows)}' of function '{self._name}' must use set "
                "semantics."
            )

    def _check_partitions(self, relations: list[n.Node], tables: list[GivenTable]) -> None:
        keys = [
            [relation.schema[i].type for i in table.partition]
            for relation, table in zip(relations, tables, strict=True)
        ]
        if len({len(key) for key in keys}) > 1 or any(
            not _same_key(key) for key in zip(*keys, strict=True)
        ):
            shown = ", ".join(f"[{', '.join(x.sql_text() for x in key)}]" for key in keys)
            raise self._error(
                "Invalid PARTITION BY columns. The number of columns and their data types must "
                f"match across all involved table arguments. Given partition key sets: {shown}"
            )

    def _check_times(self, relations: list[n.Node], tables: list[GivenTable]) -> None:
        names = {f.name for relation in relations for f in relation.schema}
        unknown = [name for name in self._on_time.names if name not in names]
        if unknown:
            raise self._error(
                "Invalid time attribute declaration. Each column in the `on_time` argument must "
                "reference at least one column in one of the table arguments. Unknown references: "
                f"[{', '.join(unknown)}]",
                self._on_time,
            )
        missing = [table.argument.name for table in tables if table.time is None]
        if self._on_time.names and missing:
            raise self._error(
                "Invalid time attribute declaration. If multiple tables are declared, the "
                "`on_time` argument must reference a time column for each table argument or none. "
                f"Missing time attributes for: [{', '.join(missing)}]",
                self._on_time,
            )
        kinds = {type(f.type).__name__ for f in _times(relations, tables)}
        if len(kinds) > 1:
            raise self._error(
                "Invalid time attribute declaration. All columns in the `on_time` argument must "
                f"reference the same data type kind. But found: [{', '.join(sorted(kinds))}]",
                self._on_time,
            )

    def _schema(self, relations: list[n.Node], tables: list[GivenTable]) -> Schema:
        fields: list[Field] = []
        for relation, table in zip(relations, tables, strict=True):
            if ArgumentTrait.PASS_COLUMNS_THROUGH in table.argument.traits:
                fields += relation.schema
            else:
                fields += [relation.schema[i] for i in table.partition]
        fields += [Field(f.name, f.data_type) for f in self._function.columns.fields]
        times = [f.type for f in _times(relations, tables)]
        if times:
            type_ = common_type(times)
            assert type_ is not None
            fields.append(Field("rowtime", type_.not_null(), TimeAttribute.ROWTIME))
        return Schema(tuple(_with_unique_names(fields)))

    def _uid(self, tables: list[GivenTable]) -> str | None:
        value = self._given.get("uid")
        if value is None:
            if not any(table.argument.is_set for table in tables):
                return None
            if not _UID.fullmatch(self._name):
                raise self._error(
                    "Could not derive a unique identifier for process table function "
                    f"'{self._name}'. The function's name does not qualify for a UID. Please "
                    "provide a custom identifier using the implicit `uid` argument. For example: "
                    "myFunction(..., uid => 'my-id')"
                )
            return self._name
        uid = value.value if isinstance(value, x.Constant) else None
        if not isinstance(uid, str) or not _UID.fullmatch(uid):
            raise self._error(
                "Invalid unique identifier for process table function. The `uid` argument must be "
                f"a string literal that follows the pattern {_UID.pattern}. But found: {uid}",
                value,
            )
        return uid

    def _error(self, message: str, at: Any = None) -> SqlError:
        return self._context.error(message, getattr(at, "span", None) or self._span)


def _times(relations: list[n.Node], tables: list[GivenTable]) -> list[Field]:
    return [
        relation.schema[table.time]
        for relation, table in zip(relations, tables, strict=True)
        if table.time is not None
    ]


def _can_be_time(type_: t.DataType) -> bool:
    return is_timestamp(type_) and type_.precision <= 3  # type: ignore[attr-defined]


def _same_key(types: tuple[t.DataType, ...]) -> bool:
    """Whether equal values are equal keys."""
    if all(map(is_character, types)):
        return True
    return all(type(x) is type(types[0]) for x in types) and common_type(types) is not None


def _with_unique_names(fields: list[Field]) -> list[Field]:
    """A name that was there already gets a number."""
    seen: dict[str, int] = {}
    found = []
    for field in fields:
        count = seen[field.name] = seen.get(field.name, -2) + 1
        found.append(field if count < 0 else Field(f"{field.name}{count}", field.type, field.time))
    return found
