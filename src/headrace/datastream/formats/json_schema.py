"""The types that a JSON Schema describes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headrace.common.errors import GraphError
from headrace.common.typeinfo import BasicType, BasicTypeInfo, TypeInformation, Types

__all__ = ["type_of_json_schema"]


def type_of_json_schema(text: str) -> TypeInformation:
    """The type that a JSON Schema describes; numbers are decimals, as in Flink."""
    try:
        schema = json.loads(text)
    except (TypeError, ValueError) as error:
        raise GraphError(f"Invalid JSON schema. It is not JSON: {error}") from error
    return _schema_type(schema, "<root>")


_SCALARS: dict[str, Callable[[], TypeInformation]] = {
    "boolean": Types.BOOLEAN,
    "integer": Types.BIG_DEC,
    "number": Types.BIG_DEC,
    "string": Types.STRING,
}
_FORMATS: dict[str, Callable[[], TypeInformation]] = {
    "date-time": Types.SQL_TIMESTAMP,
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
}


def _schema_type(schema: Any, where: str) -> TypeInformation:
    kinds = schema.get("type") if isinstance(schema, dict) else None
    kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
    kinds = [k for k in kinds if k != "null"]
    if len(kinds) != 1:
        raise GraphError(f"the JSON schema has no single type at {where}: {schema!r}")
    (kind,) = kinds
    if kind == "object":
        properties = schema.get("properties")
        if not properties:
            raise GraphError(f"the JSON schema has an object without properties at {where}")
        types = [_schema_type(s, f"{where}/{name}") for name, s in properties.items()]
        return Types.ROW_NAMED(list(properties), types)
    if kind == "array":
        return _array_type(schema.get("items"), where)
    if kind == "string":
        if schema.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(str(schema.get("format")), Types.STRING)()
    if kind not in _SCALARS:
        raise GraphError(f"Unsupported type {kind!r} in node: {where} of the JSON schema")
    return _SCALARS[kind]()


def _array_type(items: Any, where: str) -> TypeInformation:
    if isinstance(items, list):
        types = [_schema_type(s, f"{where}/{i}") for i, s in enumerate(items)]
        return Types.ROW(types)
    if items is None:
        raise GraphError(f"the JSON schema has an array without items at {where}")
    element = _schema_type(items, f"{where}/items")
    if isinstance(element, BasicTypeInfo) and element.basic_type is BasicType.STRING:
        return Types.BASIC_ARRAY(element)
    return Types.OBJECT_ARRAY(element)
