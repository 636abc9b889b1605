"""Functions that make expressions: columns, values, and functions without a first argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql.parser import syntax as x
from headrace.sql.parsing import parse_expression
from headrace.sql.table_api.expression_nodes import called, literal, node_of, text_of, with_optional
from headrace.sql.types import DataType
from headrace.table.expression import Expression, JsonOnNull, TimePointUnit
from headrace.table.udf import UserDefinedFunctionWrapper

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _expression(name: str, function: Any, *args: Any) -> Expression[Any]:
    return Expression(*called(name, function, *with_optional(*args)))


def col(name: str) -> Expression[Any]:
    """A column, by its name; `*` is all of them."""
    return Expression(x.Star() if name == "*" else x.Name((name,)), name)


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A value, of a type if one is given."""
    return Expression(*literal(v, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Columns from one to another, by name or by number from 1; for `with_columns`."""
    text = f"rangeTo({start}, {end})"
    return Expression(x.Apply("$range", (_place(start), _place(end))), text)


def _place(column: str | int) -> x.Node:
    return x.Name((column,)) if isinstance(column, str) else literal(column)[0]


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether all are TRUE."""
    return _expression("and", "AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether one is TRUE."""
    return _expression("or", "OR", predicate0, predicate1, *predicates)


def not_(expression: Any) -> Expression[bool]:
    """Whether it is FALSE."""
    return _expression("not", "NOT", expression)


def current_date() -> Expression[Any]:
    """Today."""
    return _expression("currentDate", "CURRENT_DATE")


def current_time() -> Expression[Any]:
    """The time of day."""
    return _expression("currentTime", "CURRENT_TIME")


def current_timestamp() -> Expression[Any]:
    """Now."""
    return _expression("currentTimestamp", "CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Event time so far."""
    return _expression("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def current_database() -> Expression[str]:
    """The name of the current database."""
    return _expression("currentDatabase", "CURRENT_DATABASE")


def local_time() -> Expression[Any]:
    """The time of day."""
    return _expression("localTime", "LOCALTIME")


def local_timestamp() -> Expression[Any]:
    """Now, as clocks of the session's zone show it."""
    return _expression("localTimestamp", "LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """The date of a text."""
    return _expression("toDate", "TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """The timestamp of a text."""
    return _expression("toTimestamp", "TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """The instant of a number or a text."""
    return _expression("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Whether two spans of time overlap."""
    return _expression(
        "temporalOverlaps",
        "OVERLAPS",
        left_time_point,
        left_temporal,
        right_time_point,
        right_temporal,
    )


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """A timestamp as a pattern wants it."""
    return _expression("dateFormat", "DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression[int]:
    """Whole units from one time to another."""
    node, _ = called("", "TIMESTAMPDIFF", time_point_unit.name, time_point1, time_point2)
    unit = time_point_unit.name
    return Expression(
        node, f"timestampDiff({unit}, {text_of(time_point1)}, {text_of(time_point2)})"
    )


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """A time in another zone."""
    return _expression("convertTz", "CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """The text of seconds since 1970."""
    return _expression("fromUnixtime", "FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """Seconds since 1970, now or of a text."""
    return _expression("unixTimestamp", "UNIX_TIMESTAMP", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of elements."""
    return Expression(*called("array", "ARRAY", head, *tail))


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of fields."""
    return Expression(*called("row", "$ROW", head, *tail))


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """A map of keys and values in turn."""
    return Expression(*called("map", "MAP", key, value, *tail))


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """A map of an array of keys and one of values."""
    return _expression("mapFromArrays", "MAP_FROM_ARRAYS", key, value)


def object_of(class_name: Any, *args: Any) -> Expression[Any]:
    """An object with fields."""
    return _expression("OBJECT_OF", "OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression[Any]:
    """A number of rows, for windows."""
    return Expression(x.Apply("$rows", (literal(rows)[0],)), str(rows))


def pi() -> Expression[float]:
    """The number pi."""
    return _expression("pi", "PI")


def e() -> Expression[float]:
    """The number e."""
    return _expression("e", "E")


def rand(seed: Any = None) -> Expression[float]:
    """A random number below 1."""
    return _expression("rand", "RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """A random whole number below a bound."""
    args = (bound,) if seed is None else (seed, bound)
    return Expression(*called("randInteger", "RAND_INTEGER", *args))


def atan2(y: Any, x: Any) -> Expression[float]:
    """The angle of a point."""
    return _expression("atan2", "ATAN2", y, x)


def negative(v: Any) -> Expression[Any]:
    """With the other sign."""
    return _expression("minusPrefix", "MINUS_PREFIX", v)


def concat(first: Any, *others: Any) -> Expression[str]:
    """Texts one after the other."""
    return Expression(*called("concat", "CONCAT", first, *others))


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Texts with a separator between them."""
    return Expression(*called("concat_ws", "CONCAT_WS", separator, first, *others))


def uuid() -> Expression[str]:
    """A random UUID."""
    return _expression("uuid", "UUID")


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type."""
    return Expression(x.Constant(None, data_type.nullable()), "null")


def log(v: Any, base: Any = None) -> Expression[float]:
    """The logarithm, natural unless a base is given."""
    return Expression(*called("log", "LOG", *([v] if base is None else [base, v])))


def source_watermark() -> Expression[Any]:
    """The watermark of the source, in a schema."""
    return _expression("SOURCE_WATERMARK", "SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """One value where the condition is TRUE, another one elsewhere."""
    return Expression(*called("ifThenElse", "IF", condition, if_true, if_false))


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL."""
    return Expression(*called("COALESCE", "COALESCE", *args))


def with_all_columns() -> Expression[Any]:
    """All columns."""
    return Expression(x.Star(), "withAllColumns()")


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Some columns, ranges of them included."""
    return Expression(*called("withColumns", "$with_columns", head, *tails))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but some."""
    return Expression(*called("withoutColumns", "$without_columns", head, *tails))


def json(value: Any) -> Expression[Any]:
    """A text that is JSON already, inside of `json_object` and `json_array`."""
    return _expression("JSON", "JSON", value)


def json_string(value: Any) -> Expression[str]:
    """A value as JSON."""
    return _expression("JSON_STRING", "JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[str]:
    """A JSON object of keys and values in turn."""
    return _json("JSON_OBJECT", on_null, args, slice(1, None, 2))


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[str]:
    """A JSON object of a group."""
    return _json("JSON_OBJECTAGG", on_null, (key_expr, value_expr), slice(1, None), group=True)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[str]:
    """A JSON array of values."""
    return _json("JSON_ARRAY", on_null, args, slice(None))


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[str]:
    """A JSON array of a group."""
    return _json("JSON_ARRAYAGG", on_null, (item_expr,), slice(None), group=True)


def _json(
    name: str, on_null: JsonOnNull, args: Sequence[Any], values: slice, group: bool = False
) -> Expression[str]:
    """A function that makes JSON; `values` are those arguments that are put into it."""
    nodes = [node_of(a) for a in args]
    nodes[values] = [x.Apply("JSON_ELEMENT", (v,)) for v in nodes[values]]
    texts = [text_of(a) for a in args]
    shown = f"{name}_{on_null.name}_ON_NULL" if group else name
    shown = f"{shown}({', '.join(texts if group else [on_null.name, *texts])})"
    return Expression(x.Apply(name, (node_of(on_null.name), *nodes)), shown)


def lag(expr: Any, offset: int = 1, default: Any = None) -> Expression[Any]:
    """The value of an earlier row."""
    return _expression("lag", "LAG", expr, offset, default)


def lead(expr: Any, offset: int = 1, default: Any = None) -> Expression[Any]:
    """The value of a later row."""
    return _expression("lead", "LEAD", expr, offset, default)


def descriptor(*column_names: str) -> Expression[Any]:
    """Names of columns as an argument of a function."""
    return Expression(x.Descriptor(column_names), f"DESCRIPTOR({', '.join(column_names)})")


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """A function by its name or itself, with arguments."""
    if isinstance(f, UserDefinedFunctionWrapper):
        return Expression(*called(f.name, f, *args))
    if not isinstance(f, str):
        raise FunctionTypeError(f"call takes the name of a function or a udf, not {f!r}")
    return Expression(*called(f, f, *args))


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression in SQL."""
    return Expression(parse_expression(sql_expression), f"[{sql_expression}]")


UNBOUNDED_ROW: Expression[Any] = Expression(
    x.Apply("$unbounded", (node_of(True),)), "UNBOUNDED_ROW"
)
UNBOUNDED_RANGE: Expression[Any] = Expression(
    x.Apply("$unbounded", (node_of(False),)), "UNBOUNDED_RANGE"
)
CURRENT_ROW: Expression[Any] = Expression(x.Apply("$current", (node_of(True),)), "CURRENT_ROW")
CURRENT_RANGE: Expression[Any] = Expression(x.Apply("$current", (node_of(False),)), "CURRENT_RANGE")
