"""JSON, a record in each message or line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from headrace.common.errors import FunctionTypeError, HeadraceError, shorten_repr
from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats.json_values import (
    FieldRules,
    has_decimals,
    reader_of,
    type_of_json_schema,
    unmark_decimals,
    writer_of,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

_UNREADABLE = (ValueError, TypeError, ArithmeticError, KeyError)


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

    def __init__(self, type_info: TypeInformation, rules: FieldRules) -> None:
        self._type_info = type_info
        self._rules = rules
        self._read = reader_of(type_info, rules)
        # Decimals keep their digits, at a price that others need not pay.
        self._parse_float = Decimal if has_decimals(type_info) else float

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder."""
        return JsonRowDeserializationSchema.Builder()

    def __getstate__(self) -> tuple[TypeInformation, FieldRules]:
        return self._type_info, self._rules

    def __setstate__(self, state: tuple[TypeInformation, FieldRules]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def deserialize(self, message: bytes) -> Any:
        """The row in one message; None for `null`, and for what is unreadable if that is ignored.

        Raises:
            HeadraceError: The message is not what the type describes.
        """
        try:
            return self._read(json.loads(message, parse_float=self._parse_float))
        except _UNREADABLE as error:
            if self._rules.ignore_errors:
                return None
            raise HeadraceError(
                f"a message is not JSON that matches the declared type: {_reason(error)}; it is "
                f"{shorten_repr(bytes(message))}; ignore_parse_errors() skips such messages"
            ) from error

    def deserialize_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The rows of many messages; those to be skipped are left out."""
        try:
            # One call for all of them; whatever is wrong is found by looking at each.
            values = json.loads(b"[" + b",".join(messages) + b"]", parse_float=self._parse_float)
            if len(values) == len(messages):
                return [row for row in map(self._read, values) if row is not None]
        except _UNREADABLE:
            pass
        return super().deserialize_many(messages)

    def get_produced_type(self) -> TypeInformation:
        """The declared type."""
        return self._type_info

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
                raise FunctionTypeError("json_schema must be the text of a JSON Schema, not None")
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
            rules = FieldRules(self._fail_on_missing_field, self._ignore_parse_errors)
            return JsonRowDeserializationSchema(self._type_info, rules)


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
        self._write = writer_of(type_info)
        self._decimals = has_decimals(type_info)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder."""
        return JsonRowSerializationSchema.Builder()

    def __getstate__(self) -> TypeInformation:
        return self._type_info

    def __setstate__(self, state: TypeInformation) -> None:
        self.__init__(state)  # type: ignore[misc]

    def serialize(self, element: Any) -> bytes:
        """The bytes of one row."""
        try:
            text = _encode(self._write(element))
            return (unmark_decimals(text) if self._decimals else text).encode()
        except (TypeError, ValueError, AttributeError) as error:
            raise HeadraceError(
                f"a record cannot be written as JSON of the declared type: {_reason(error)}; it is "
                f"{shorten_repr(element)}"
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
                raise FunctionTypeError("with_type_info() is needed before build()")
            return JsonRowSerializationSchema(self._type_info)


def _checked_type(type_info: Any) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        raise FunctionTypeError(
            "the type of the records must be a TypeInformation, such as Types.ROW_NAMED(...), not "
            f"{type_info!r}"
        )
    return type_info


def _reason(error: Exception) -> str:
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"{text}" if isinstance(error, KeyError) else f"{type(error).__name__}: {text}"
