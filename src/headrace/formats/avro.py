"""Avro: records in binary form, by a schema. Needs `pip install 'headrace[avro]'`."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError

__all__ = ["fastavro", "record_reader", "record_writer"]


def fastavro() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import fastavro
    except ImportError:
        raise HeadraceError(
            "Avro needs the package fastavro: pip install 'headrace[avro]'"
        ) from None
    return fastavro


def record_reader(schema: Any, whole: bool = False) -> Callable[[bytes], Any]:
    """A function from a message without a header to a record of a parsed schema.

    Args:
        schema: What fastavro made of the schema.
        whole: Whether the record must be the whole message. Otherwise fields that a newer schema
            has after the last one are passed over, as in Flink.
    """
    read = fastavro().schemaless_reader

    def record(message: bytes) -> Any:
        stream = io.BytesIO(message)
        found = read(stream, schema, None)
        if whole and stream.read(1):
            raise ValueError(f"{len(message) - stream.tell() + 1} bytes are left over")
        return found

    return record


def record_writer(schema: Any) -> Callable[[Any], bytes]:
    """A function from a record of a parsed schema to a message without a header."""
    write = fastavro().schemaless_writer

    def message(record: Any) -> bytes:
        stream = io.BytesIO()
        write(stream, schema, record)
        return stream.getvalue()

    return message
