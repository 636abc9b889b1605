"""Classes of messages, as protoc would generate them."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

F = descriptor_pb2.FieldDescriptorProto
KINDS = {
    "int32": F.TYPE_INT32,
    "int64": F.TYPE_INT64,
    "uint32": F.TYPE_UINT32,
    "uint64": F.TYPE_UINT64,
    "bool": F.TYPE_BOOL,
    "float": F.TYPE_FLOAT,
    "double": F.TYPE_DOUBLE,
    "string": F.TYPE_STRING,
    "bytes": F.TYPE_BYTES,
}
FIELDS = (
    "int32 id|int64 large|uint32 small|uint64 huge|bool flag|float f|double d|string name|"
    "bytes raw|Color color|repeated int32 numbers|repeated string names|repeated Part parts|"
    "Part part|map counts|map places|repeated Color colors"
)


def _of(syntax: str) -> Any:
    package = f"tests.{syntax}"
    file = descriptor_pb2.FileDescriptorProto(
        name=f"tests/{syntax}.proto", package=package, syntax=syntax
    )
    color = file.enum_type.add(name="Color")
    for number, name in enumerate(("RED", "GREEN")):
        color.value.add(name=name, number=number)
    part = file.message_type.add(name="Part")
    part.field.add(name="x", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    part.field.add(name="y", number=2, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    thing = file.message_type.add(name="Thing")
    for number, text in enumerate(FIELDS.split("|"), 1):
        *words, name = text.split()
        label = F.LABEL_REPEATED if words[0] in ("repeated", "map") else F.LABEL_OPTIONAL
        field = thing.field.add(name=name, number=number, label=label)
        if words[-1] == "map":
            entry = thing.nested_type.add(name=f"{name.capitalize()}Entry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
            value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
            value.type = F.TYPE_INT32 if name == "counts" else F.TYPE_MESSAGE
            if name == "places":
                value.type_name = f".{package}.Part"
            field.type, field.type_name = F.TYPE_MESSAGE, f".{package}.Thing.{entry.name}"
        elif words[-1] in KINDS:
            field.type = KINDS[words[-1]]
        else:
            field.type = F.TYPE_ENUM if words[-1] == "Color" else F.TYPE_MESSAGE
            field.type_name = f".{package}.{words[-1]}"
    pool = descriptor_pool.Default()
    found = pool.Add(file) or pool.FindFileByName(file.name)
    return message_factory.GetMessageClass(found.message_types_by_name["Thing"])


Thing2 = _of("proto2")
Thing3 = _of("proto3")
