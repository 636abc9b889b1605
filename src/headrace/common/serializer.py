"""`TypeSerializer`: how state of a type of one's own is written and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Any, Generic, TypeVar

from headrace.common.errors import StateMigrationError
from headrace.common.typeinfo import TypeInformation

__all__ = ["SerializedTypeInfo", "TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes objects of one type to a stream and reads them back.

    A state descriptor takes a serializer in place of a type, and the state then holds bytes. When
    the bytes change their layout, count `version` up and read the old ones in `deserialize_old`.

    Serializers are part of a program, so they must be picklable. Two of the same class with the
    same fields are equal.

    Attributes:
        version: The version of the bytes that `serialize` writes, from 0 to 255.
    """

    version: int = 1

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Appends the bytes of one object to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Reads one object from the stream's position, and no byte more."""

    def deserialize_old(self, stream: BytesIO, version: int) -> T:
        """Reads one object that was written by another version of this serializer."""
        raise StateMigrationError(
            f"saved state was written by version {version} of {type(self).__name__}, which is at "
            f"version {self.version} now and cannot read it; override deserialize_old(), or "
            "choose a new state name to start empty"
        )

    def __eq__(self, other: object) -> bool:
        """Same class and same fields."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __ne__(self, other: object) -> bool:
        """The opposite of equality."""
        return not self == other

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(type(self))

    def __repr__(self) -> str:
        """The name of the class."""
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Writes nothing: what there is only one of needs no bytes."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Appends nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Reads nothing."""
        return b""


class SerializedTypeInfo(TypeInformation):
    """The type of state that a `TypeSerializer` writes and reads."""

    def __init__(self, serializer: TypeSerializer[Any]) -> None:
        self.serializer = serializer

    def _identity(self) -> tuple[Any, ...]:
        return (self.serializer,)

    def __repr__(self) -> str:
        """The name with that of the serializer's class: saved state is recognised by it."""
        return f"SerializedTypeInfo<{type(self.serializer).__name__}>"
