"""`TypeSerializer`: how state of a type of one's own is written and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes objects of one type to a stream and reads them back.

    Serializers are part of a program, so they must be picklable. Two of the same class with the
    same fields are equal.
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Appends the bytes of one object to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Reads one object from the stream's position, and no byte more."""

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
