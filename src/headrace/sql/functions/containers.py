"""Functions of arrays, maps and rows."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.functions.registry import scalar
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import common_type, is_character


def _array(types: Sequence[DataType]) -> DataType | None:
    element = common_type(types)
    return None if element is None else t.ArrayType(element, False)


def _map(types: Sequence[DataType]) -> DataType | None:
    if len(types) % 2:
        return None
    key, value = common_type(types[0::2]), common_type(types[1::2])
    return None if key is None or value is None else t.MapType(key, value, False)


def _row(types: Sequence[DataType]) -> DataType | None:
    return t.RowType([t.RowField(f"EXPR${i}", x) for i, x in enumerate(types)], False)


def _row_of_table_api(types: Sequence[DataType]) -> DataType | None:
    return t.RowType([t.RowField(f"f{i}", x) for i, x in enumerate(types)], False)


def _item(types: Sequence[DataType]) -> DataType | None:
    container, key = types
    if isinstance(container, t.VariantType):
        known = is_character(key) or isinstance(key, t.IntegralType)
        return container.nullable() if known else None
    if isinstance(container, t.MapType):
        return container.value_type.nullable()  # type: ignore[no-any-return]
    if isinstance(container, t.ArrayType) and isinstance(key, t.IntegralType):
        return container.element_type.nullable()  # type: ignore[no-any-return]
    return None


def _element(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    return first.element_type.nullable() if isinstance(first, t.ArrayType) else None


def _only_element(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    return first.element_type if isinstance(first, t.ArrayType) else None


def _contains(types: Sequence[DataType]) -> DataType | None:
    return t.BooleanType(types[0].is_nullable)


def _keys(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    return t.ArrayType(first.key_type, False) if isinstance(first, t.MapType) else None


def _values(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    return t.ArrayType(first.value_type, False) if isinstance(first, t.MapType) else None


def _entries(types: Sequence[DataType]) -> DataType | None:
    first = types[0]
    if not isinstance(first, t.MapType):
        return None
    fields = [t.RowField("key", first.key_type), t.RowField("value", first.value_type)]
    return t.ArrayType(t.RowType(fields), False)


def _map_of_arrays(types: Sequence[DataType]) -> DataType | None:
    keys, values = types
    if isinstance(keys, t.ArrayType) and isinstance(values, t.ArrayType):
        return t.MapType(keys.element_type, values.element_type, False)
    return None


FUNCTIONS = [
    scalar("ARRAY", "any+", _array, "({args},)", strict=False, hidden=True),
    scalar("MAP", "any+", _map, "containers:make_map", strict=False, hidden=True),
    scalar("ROW", "any+", _row, "{row}", strict=False),
    scalar("$ROW", "any+", _row_of_table_api, "{row}", strict=False, hidden=True),
    scalar("ITEM", "any, any", _item, table_name="at", hidden=True),
    scalar("OBJECT_OF", "string, any*", "arg0", "(*[{args}],)", strict=False),
    scalar("OBJECT_UPDATE", "row, any*", "arg0", "containers:update_fields", strict=False),
    scalar("GET", "any, any", "arg0", hidden=True),
    scalar("CARDINALITY", "array|map", "int", "len({0})"),
    scalar("ELEMENT", "array", _only_element, "containers:element"),
    scalar("ARRAY_CONTAINS", "array, any", _contains, "containers:contains", strict=False),
    scalar("ARRAY_DISTINCT", "array", "arg0", "containers:distinct"),
    scalar("ARRAY_POSITION", "array, any", "int", "containers:position"),
    scalar("ARRAY_REMOVE", "array, any", "arg0", "containers:remove", strict=False),
    scalar("ARRAY_REVERSE", "array", "arg0", "{0}[::-1]"),
    scalar("ARRAY_CONCAT", "array+", "common", "containers:concat"),
    scalar("ARRAY_APPEND", "array, any", "arg0", "({0} + ({1},))", strict=False),
    scalar("ARRAY_PREPEND", "array, any", "arg0", "(({1},) + {0})", strict=False),
    scalar("ARRAY_UNION", "array, array", "common", "containers:union"),
    scalar("ARRAY_INTERSECT", "array, array", "common", "containers:intersect"),
    scalar("ARRAY_EXCEPT", "array, array", "common", "containers:minus"),
    scalar("ARRAY_MAX", "array", _element, "containers:largest"),
    scalar("ARRAY_MIN", "array", _element, "containers:smallest"),
    scalar("ARRAY_JOIN", "array, string, string?", "string", "containers:join"),
    scalar("ARRAY_SLICE", "array, int, int?", "arg0", "containers:array_slice"),
    scalar("ARRAY_SORT", "array, bool?, bool?", "arg0", "containers:array_sort"),
    scalar("MAP_KEYS", "map", _keys, "tuple({0})"),
    scalar("MAP_VALUES", "map", _values, "tuple({0}.values())"),
    scalar("MAP_ENTRIES", "map", _entries, "tuple({0}.items())"),
    scalar("MAP_FROM_ARRAYS", "array, array", _map_of_arrays, "containers:map_from_arrays"),
    scalar("MAP_UNION", "map+", "common", "containers:map_union"),
]
