"""Functions of JSON text: looking into it with paths, and making it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.sql.formats.json import value_writer
from headrace.sql.functions.builtin.json_path import MISSING, parse_path
from headrace.sql.types import DataType


def _loads(text: str) -> Any:
    """Numbers with a fraction keep all their digits."""
    return json.loads(text, parse_float=Decimal)


def _dumps(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_dumps(k)}:{_dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dumps, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def is_json(text: str | None, kind: str = "VALUE") -> bool:
    """Whether text is JSON of a kind: VALUE (any), SCALAR, ARRAY or OBJECT."""
    if text is None:
        return False
    try:
        value = _loads(text)
    except ValueError:
        return False
    if kind == "SCALAR":
        return not isinstance(value, dict | list)
    return kind == "VALUE" or isinstance(value, list if kind == "ARRAY" else dict)


class _PathError(Exception):
    """A strict path found nothing, or its text is not JSON: ON ERROR decides."""


def _at(text: str, path: str) -> Any:
    parsed = parse_path(path)
    try:
        found = parsed.find(_loads(text))
    except ValueError as error:
        if not parsed.strict:
            return MISSING
        raise _PathError(f"{text!r} is not JSON") from error
    if found is MISSING and parsed.strict:
        raise _PathError(f"there is nothing at {path!r}")
    return found


def _instead(behavior: str, default: Any, what: str) -> Any:
    """What ON EMPTY or ON ERROR gives."""
    if behavior == "ERROR":
        raise HeadraceError(f"{what}, and ERROR says to raise an error")
    return {"DEFAULT": default, "EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}.get(behavior)


def json_exists(text: str, path: str, on_error: str = "FALSE") -> bool | None:
    try:
        found = _at(text, path)
    except _PathError as error:
        if on_error == "ERROR":
            raise HeadraceError(str(error)) from error
        return {"TRUE": True, "FALSE": False}.get(on_error)
    return found is not MISSING and found is not None


def json_value(
    text: str | None,
    path: str | None,
    on_empty: str = "NULL",
    empty: str | None = None,
    on_error: str = "NULL",
    error: str | None = None,
) -> str | None:
    if text is None or path is None:
        return None
    try:
        value = _at(text, path)
        if isinstance(value, dict | list) and parse_path(path).strict:
            raise _PathError(f"{path!r} is not a scalar")
    except _PathError as problem:
        instead: str | None = _instead(on_error, error, str(problem))
        return instead
    if value is MISSING or value is None or isinstance(value, dict | list):
        instead = _instead(on_empty, empty, f"there is no scalar at {path!r}")
        return instead
    return scalar_text(value)


def scalar_text(value: Any) -> str:
    """A scalar without quotes."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def json_query(
    text: str | None,
    path: str | None,
    wrapper: str = "WITHOUT",
    on_empty: str = "NULL",
    on_error: str = "NULL",
) -> str | None:
    if text is None or path is None:
        return None
    try:
        value = _at(text, path)
        if value is not MISSING and value is not None:
            if wrapper == "UNCONDITIONAL" or (
                wrapper == "CONDITIONAL" and not isinstance(value, dict | list)
            ):
                value = [value]
            elif not isinstance(value, dict | list) and parse_path(path).strict:
                raise _PathError(f"{path!r} is neither array nor object")
    except _PathError as problem:
        instead: str | None = _instead(on_error, None, str(problem))
        return instead
    if not isinstance(value, dict | list):
        instead = _instead(on_empty, None, f"there is neither array nor object at {path!r}")
        return instead
    return _dumps(value)


def json_query_array(*args: Any) -> tuple[str | None, ...] | None:
    """JSON_QUERY ... RETURNING ARRAY<STRING>."""
    text = json_query(*args)
    if text is None:
        return None
    value = _loads(text)
    if not isinstance(value, list):
        return None
    return tuple(
        None if v is None else _dumps(v) if isinstance(v, dict | list) else scalar_text(v)
        for v in value
    )


@lru_cache(256)
def _writer(type_: DataType) -> Any:
    return value_writer(type_)


def json_string(value: Any, type_: DataType) -> str | None:
    """A value of SQL as JSON."""
    return None if value is None else str(_writer(type_)(value))


def json_object(on_null: str, *parts: Any) -> str:
    """Keys, each followed by the JSON of its value."""
    return object_text(zip(parts[0::2], parts[1::2], strict=True), on_null)


def object_text(pairs: Iterable[tuple[str, str | None]], on_null: str) -> str:
    """A JSON object of keys, in order, and the JSON of their values; None stands for NULL."""
    pairs = list(pairs)
    if any(k is None for k, _ in pairs):
        raise HeadraceError("a key of a JSON object must not be NULL")
    kept = {k: v for k, v in pairs if v is not None or on_null == "NULL"}
    parts = [f"{_dumps(k)}:{'null' if v is None else v}" for k, v in sorted(kept.items())]
    return "{" + ",".join(parts) + "}"


def json_array(on_null: str, *parts: str | None) -> str:
    return array_text(parts, on_null)


def array_text(parts: Iterable[str | None], on_null: str) -> str:
    """A JSON array of the JSON of its elements."""
    kept = [p for p in parts if p is not None or on_null == "NULL"]
    return "[" + ",".join("null" if p is None else p for p in kept) + "]"


def json_raw(text: str) -> str:
    """JSON(...): text that is JSON already."""
    try:
        return _dumps(_loads(text))
    except ValueError as error:
        raise HeadraceError(f"JSON() takes valid JSON, but {text!r} is not") from error


def json_quote(text: str) -> str:
    return json.dumps(text).replace("/", "\\/")


def json_unquote(text: str) -> str:
    """Without quotes and escapes, if it is a JSON string; as it is otherwise."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            value = _loads(text)
        except ValueError:
            return text
        return str(value)
    return text
