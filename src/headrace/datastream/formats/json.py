"""JSON, a record in each message or line."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, shorten_repr
from headrace.common.instants import instant_of, utc_time_of
from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.time import Instant
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats.json_schema import type_of_json_schema
from headrace.formats import json
from headrace.formats.shapes import Kind, Shape, shape_of
from headrace.formats.streams import STREAM_VALUES
from headrace.formats.text_columns import JsonColumns, joined

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


# Times are in UTC, and say so.


def _utc(text: str) -> str:
    if not text.endswith("Z"):
        raise ValueError(f"{text!r} is not in UTC: it must end with Z")
    return text[:-1]


def _timestamp(text: str) -> datetime.datetime:
    if "T" not in text:
        raise ValueError(f"{text!r} is not a timestamp such as 2024-02-29T13:05:09.123Z")
    return datetime.datetime.fromisoformat(_utc(text))


def _timestamp_text(value: datetime.datetime) -> str:
    text = datetime.datetime.isoformat(value, timespec="microseconds")
    return text.rstrip("0").rstrip(".") + "Z"


def _time_text(value: datetime.time) -> str:
    return datetime.time.isoformat(value, timespec="seconds") + "Z"


def _instant_text(value: Instant) -> str:
    return _timestamp_text(utc_time_of(value).replace(tzinfo=None))


_READ: dict[Kind, Callable[[str], Any]] = {
    Kind.DATE: datetime.date.fromisoformat,
    Kind.TIME: lambda text: datetime.time.fromisoformat(_utc(text)),
    Kind.TIMESTAMP: _timestamp,
    Kind.INSTANT: lambda text: instant_of(_timestamp(text)),
}
_WRITE: dict[Kind, Callable[[Any], str]] = {
    Kind.DATE: datetime.date.isoformat,
    Kind.TIME: _time_text,
    Kind.TIMESTAMP: _timestamp_text,
    Kind.INSTANT: _instant_text,
}


def _read_time(shape: Shape) -> Callable[[str], Any]:
    return _READ[shape.kind]


def _write_time(shape: Shape) -> Callable[[Any], str]:
    return _WRITE[shape.kind]


def _style(fail_on_missing_field: bool = False, ignore_errors: bool = False) -> json.JsonStyle:
    return json.JsonStyle(
        STREAM_VALUES, _read_time, _write_time, fail_on_missing_field, ignore_errors
    )


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads JSON objects into rows of a declared type. Make one with `builder()`.

    A field that is missing or null is None; fields that are not declared are skipped. Values are
    converted where Flink converts them: `"12"` to a number, a number to text.

    Example:
        >>> schema = (
        ...     JsonRowDeserializationSchema.builder()
        ...     .type_info(Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()]))
        ...     .build()
        ... )
        >>> schema.deserialize(b'{"id": 1, "name": "Ada"}')
        Row(id=1, name='Ada')
    """

    def __init__(
        self, type_info: TypeInformation, fail_on_missing_field: bool, ignore_errors: bool
    ) -> None:
        self._arguments = (type_info, fail_on_missing_field, ignore_errors)
        self._ignore_errors = ignore_errors
        shape = shape_of(type_info)
        self._documents = json.Loader(shape, strict=True)
        style = _style(fail_on_missing_field, ignore_errors)
        self._read = json.reader(shape, style)
        self._columns = JsonColumns(shape, style)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder."""
        return JsonRowDeserializationSchema.Builder()

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowDeserializationSchema, self._arguments

    def deserialize(self, message: bytes) -> Any:
        """The row in one message; None for `null`, and for what is unreadable if that is ignored.

        Raises:
            HeadraceError: The message is not what the type describes.
        """
        try:
            return self._read(self._documents.one(message))
        except json.UNREADABLE as error:
            if self._ignore_errors:
                return None
            raise HeadraceError(
                "a message is not JSON that matches the declared type: "
                f"{type(error).__name__}: {error}; it is "
                f"{shorten_repr(bytes(message))}; ignore_parse_errors() skips such messages"
            ) from error

    @property
    def imports(self) -> tuple[str, ...]:
        """Arrow, which parses many messages in one call."""
        return ("pyarrow.json",)

    def deserialize_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The rows of many messages; those to be skipped are left out."""
        rows = self._columns.rows(joined(messages), len(messages))
        if rows is not None:
            return rows
        try:
            documents = self._documents.all(messages)
            if documents is not None:
                return [row for row in map(self._read, documents) if row is not None]
        except json.UNREADABLE:
            pass  # whose message it was is found by looking at each
        return super().deserialize_many(messages)

    def get_produced_type(self) -> TypeInformation:
        """The declared type."""
        return self._arguments[0]

    class Builder:
        """Builds a `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The type of the records; names of fields are those of the JSON objects."""
            self._type_info = _checked_type(type_info)
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """The type of the records, described by a JSON Schema; numbers become decimals."""
            if json_schema is None:
                raise FunctionTypeError("The json_schema must not be None, but the text of one")
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Fail where a declared field is missing, instead of taking it as None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Skip messages that are not JSON; take a field whose value does not fit as None."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            if self._type_info is None:
                raise FunctionTypeError("type_info() or json_schema() is needed before build()")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise GraphError(
                    "JSON format doesn't support failOnMissingField and ignoreParseErrors are both "
                    "true: choose one of fail_on_missing_field() and ignore_parse_errors()"
                )
            return JsonRowDeserializationSchema(
                self._type_info, self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema):
    """Writes rows of a declared type as JSON objects. Make one with `builder()`.

    Example:
        >>> schema = (
        ...     JsonRowSerializationSchema.builder()
        ...     .with_type_info(Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()]))
        ...     .build()
        ... )
        >>> schema.serialize(Row(1, "Ada"))
        b'{"id":1,"name":"Ada"}'
    """

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info
        self._write = json.writer(shape_of(type_info), _style())

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder."""
        return JsonRowSerializationSchema.Builder()

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowSerializationSchema, (self._type_info,)

    def serialize(self, element: Any) -> bytes:
        """The bytes of one row."""
        try:
            return self._write(element).encode()
        except (TypeError, ValueError, AttributeError) as error:
            raise HeadraceError(
                "a record cannot be written as JSON of the declared type: "
                f"{type(error).__name__}: {error}; it is {shorten_repr(element)}"
            ) from error

    class Builder:
        """Builds a `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The type of the records."""
            self._type_info = _checked_type(type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            if self._type_info is None:
                raise FunctionTypeError("Typeinfo should be set: call with_type_info() first")
            return JsonRowSerializationSchema(self._type_info)


def _checked_type(type_info: Any) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        raise FunctionTypeError(
            "the type of the records must be a TypeInformation, such as Types.ROW_NAMED(...), not "
            f"{type_info!r}"
        )
    return type_info
