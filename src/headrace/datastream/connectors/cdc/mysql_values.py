"""Values of MySQL: queries and the log give the same ones, once they are converted."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Converters", "converted", "of_log", "of_queries"]

Converters = Sequence[Callable[[Any], Any] | None]


def of_queries(types: Sequence[str]) -> Converters:
    """What makes values of those that a query gives."""
    return [_moment if type_.startswith("timestamp") else None for type_ in types]


def of_log(types: Sequence[str]) -> Converters:
    """What makes values of those that the log gives."""
    return [_converter_of_log(type_) for type_ in types]


def _converter_of_log(type_: str) -> Callable[[Any], Any] | None:
    if type_.startswith("timestamp"):
        return _moment
    if type_.startswith("bit"):
        return lambda bits: int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")
    if type_.startswith("binary("):
        # The log leaves out the zero bytes at the end.
        size = int(type_.removeprefix("binary(").rstrip(")"))
        return lambda value: (value or b"").ljust(size, b"\0")
    if re.match(r"varbinary|(tiny|medium|long)?blob", type_):
        # The reader has an empty text for no bytes.
        return lambda value: value or b""
    if type_.startswith("set("):
        members = [m.replace("''", "'") for m in re.findall(r"'((?:[^']|'')*)'", type_)]
        return lambda values: ",".join(m for m in members if m in values)
    if type_.startswith("json"):
        return lambda value: json.dumps(_decoded(value), ensure_ascii=False)
    return None


def _moment(value: Any) -> Any:
    """A TIMESTAMP is a moment, of which drivers give the date and time in UTC."""
    return value.replace(tzinfo=datetime.UTC)


def _decoded(value: Any) -> Any:
    """JSON of the log, which has bytes for text."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {_decoded(k): _decoded(v) for k, v in value.items()}
    return [_decoded(v) for v in value] if isinstance(value, list) else value


def converted(row: Sequence[Any], converters: Converters) -> tuple[Any, ...]:
    """A row with its values converted; NULL stays NULL."""
    return tuple(
        [v if c is None or v is None else c(v) for v, c in zip(row, converters, strict=True)]
    )
