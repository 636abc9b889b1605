"""Protocol Buffers: messages of a generated class. Needs `pip install 'headrace[protobuf]'`.

Columns are fields of the message with the same name. Enums are text or numbers, whichever is
declared.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.formats.shapes import Convert, Kind, Shape, Values

__all__ = ["ProtobufStyle", "message_class", "reader", "writer"]


@dataclass(frozen=True)
class ProtobufStyle:
    """How messages are read and written.

    Attributes:
        values: How values look in Python.
        read_default_values: Whether a field that is not set has its default, and is not None.
        null_text: What is written for None among texts of arrays and maps.
    """

    values: Values
    read_default_values: bool = False
    null_text: str = ""


def message_class(name: str) -> Any:
    """A class that `protoc` generated, by its module and name: `shop.orders_pb2.Order`."""
    try:
        messages = importlib.import_module("google.protobuf.message")
    except ImportError:
        raise HeadraceError(
            "Protocol Buffers need the package protobuf: pip install 'headrace[protobuf]'"
        ) from None
    parts = name.replace(":", ".").split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:cut])
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{module}.".startswith(f"{error.name}."):
                continue
            raise
        for part in parts[cut:]:
            found = getattr(found, part, None)
        if isinstance(found, type) and issubclass(found, messages.Message):
            return found
    raise HeadraceError(
        f"{name!r} is not a class of messages: name the module that protoc generated, and the "
        "class, as in shop.orders_pb2.Order; the module must be importable where the job runs"
    )


# What a field is.

_NUMBERS = {
    "CPPTYPE_INT32": (Kind.INTEGER, 32),
    "CPPTYPE_UINT32": (Kind.INTEGER, 32),
    "CPPTYPE_INT64": (Kind.INTEGER, 64),
    "CPPTYPE_UINT64": (Kind.INTEGER, 64),
}
_KINDS = {
    "CPPTYPE_BOOL": Kind.BOOLEAN,
    "CPPTYPE_FLOAT": Kind.FLOAT,
    "CPPTYPE_DOUBLE": Kind.DOUBLE,
}


def _fits(field: Any, shape: Shape) -> bool:
    """Whether a value of a field that is not a message is of a shape."""
    for name, (kind, bits) in _NUMBERS.items():
        if field.cpp_type == getattr(field, name):
            return shape.kind is kind and shape.bits == bits
    for name, kind in _KINDS.items():
        if field.cpp_type == getattr(field, name):
            return shape.kind is kind
    if field.cpp_type == field.CPPTYPE_ENUM:
        return shape.kind is Kind.TEXT or (shape.kind is Kind.INTEGER and shape.bits == 32)
    return shape.kind is (Kind.BYTES if field.type == field.TYPE_BYTES else Kind.TEXT)


def _is_map(field: Any) -> bool:
    message = field.message_type
    return message is not None and message.GetOptions().map_entry


def _field(descriptor: Any, name: str, style: ProtobufStyle) -> Any:
    found = descriptor.fields_by_name.get(name)
    if found is None:
        raise style.values.refusal(
            f"Column {name} does not exists in definition of {descriptor.full_name}, whose fields "
            f"are {', '.join(descriptor.fields_by_name)}"
        )
    return found


def _mismatch(field: Any, shape: Shape, style: ProtobufStyle) -> Exception:
    return style.values.refusal(
        f"Protobuf field {field.full_name} does not have the type {shape} of its column"
    )


# Reading.


def reader(descriptor: Any, shape: Shape, style: ProtobufStyle) -> Convert:
    """A function from a message to a row of a shape."""
    fields = [_field_reader(_field(descriptor, n, style), s, style) for n, s in shape.fields]
    row = style.values.row(shape.names)
    return lambda message: row([read(message) for read in fields])


def _field_reader(field: Any, shape: Shape, style: ProtobufStyle) -> Convert:
    name, convert = field.name, _container_reader(field, shape, style)
    if style.read_default_values or not (field.is_repeated or field.has_presence):
        return lambda message: convert(getattr(message, name))
    if field.is_repeated:
        # An empty array is a field that is not there.
        return lambda message: convert(v) if (v := getattr(message, name)) else None
    return lambda message: convert(getattr(message, name)) if message.HasField(name) else None


def _container_reader(field: Any, shape: Shape, style: ProtobufStyle) -> Convert:
    if not field.is_repeated:
        return _value_reader(field, shape, style)
    if _is_map(field):
        if shape.kind is not Kind.MAP:
            raise _mismatch(field, shape, style)
        parts = field.message_type.fields_by_name
        key = _value_reader(parts["key"], shape.parts[0], style)
        value = _value_reader(parts["value"], shape.parts[1], style)
        return lambda entries: {key(k): value(v) for k, v in entries.items()}
    if shape.kind is not Kind.ARRAY:
        raise _mismatch(field, shape, style)
    element, array = _value_reader(field, shape.parts[0], style), style.values.array
    return lambda values: array([element(v) for v in values])


def _value_reader(field: Any, shape: Shape, style: ProtobufStyle) -> Convert:
    if field.message_type is not None:
        if shape.kind is not Kind.ROW:
            raise _mismatch(field, shape, style)
        return reader(field.message_type, shape, style)
    if not _fits(field, shape):
        raise _mismatch(field, shape, style)
    if field.enum_type is not None and shape.kind is Kind.TEXT:
        names = field.enum_type.values_by_number
        return lambda number: names[number].name if number in names else "UNRECOGNIZED"
    if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        # Java has no unsigned numbers: large ones are negative.
        top = 1 << shape.bits - 1
        return lambda number: number if number < top else number - 2 * top
    if shape.kind is Kind.FLOAT:
        return style.values.single
    return lambda value: value


# Writing.


def writer(descriptor: Any, shape: Shape, style: ProtobufStyle) -> Callable[[Any, Any], None]:
    """A function that sets the fields of a message to a row of a shape; those of None stay."""
    writers = [_field_writer(_field(descriptor, n, style), s, style) for n, s in shape.fields]
    fields = style.values.fields(shape.names)

    def write(message: Any, row: Any) -> None:
        for set_field, value in zip(writers, fields(row), strict=False):
            if value is not None:
                set_field(message, value)

    return write


def _field_writer(field: Any, shape: Shape, style: ProtobufStyle) -> Callable[[Any, Any], None]:
    _container_reader(field, shape, style)  # refuses types that do not fit
    name = field.name
    if _is_map(field):
        return _map_writer(field, shape, style)
    part = shape.parts[0] if field.is_repeated else shape
    if field.message_type is not None:
        fill = writer(field.message_type, part, style)
        if not field.is_repeated:
            return lambda message, value: _fill(getattr(message, name), fill, value)

        def add_all(message: Any, values: Any) -> None:
            target = getattr(message, name)
            for value in values:
                _fill(target.add(), fill, value)

        return add_all
    convert = _value_writer(field, part, style)
    if field.is_repeated:
        return lambda message, values: getattr(message, name).extend(map(convert, values))
    return lambda message, value: setattr(message, name, convert(value))


def _fill(message: Any, fill: Callable[[Any, Any], None], value: Any) -> None:
    # A message without fields that are set is there nevertheless.
    message.SetInParent()
    if value is not None:
        fill(message, value)


def _map_writer(field: Any, shape: Shape, style: ProtobufStyle) -> Callable[[Any, Any], None]:
    parts, name = field.message_type.fields_by_name, field.name
    key = _value_writer(parts["key"], shape.parts[0], style)
    if parts["value"].message_type is None:
        convert = _value_writer(parts["value"], shape.parts[1], style)

        def write(message: Any, entries: Any) -> None:
            target = getattr(message, name)
            for k, v in entries.items():
                target[key(k)] = convert(v)

        return write
    fill = writer(parts["value"].message_type, shape.parts[1], style)

    def write_messages(message: Any, entries: Any) -> None:
        target = getattr(message, name)
        for k, v in entries.items():
            _fill(target[key(k)], fill, v)

    return write_messages


def _value_writer(field: Any, shape: Shape, style: ProtobufStyle) -> Convert:
    """Makes a value of a field of one that may be None inside of arrays and maps."""
    nothing = style.null_text if shape.kind is Kind.TEXT else field.default_value
    if field.is_repeated:
        nothing = {Kind.TEXT: style.null_text, Kind.BYTES: b""}.get(shape.kind, 0)
    if field.enum_type is not None:
        numbers = field.enum_type.values_by_name
        if shape.kind is Kind.TEXT:
            first = field.enum_type.values[0].number
            return lambda v: first if v is None else numbers[v].number
    if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        every = (1 << shape.bits) - 1
        return lambda v: nothing if v is None else v & every
    return lambda v: nothing if v is None else v
