"""Types of Python objects: raw ones and those that users write."""

from __future__ import annotations

import sys
from typing import Any

from headrace.sql.types.base import DataType


class RawType(DataType):
    """Any Python object."""

    root = "RAW"

    def _sql(self) -> str:
        return "RAW('[B', '...')"

    def from_sql_type(self, obj: Any) -> Any:
        """The object itself."""
        return obj


class UserDefinedType(DataType):
    """Base of types that users write: how an object becomes an SQL value and back."""

    @classmethod
    def type_name(cls) -> str:
        """The name of the class in capitals, without `UDT` or `Type`."""
        return cls.__name__.removesuffix("UDT").removesuffix("Type").upper()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type of the SQL values."""
        raise NotImplementedError("a user-defined type says what its sql_type() is")

    @classmethod
    def module(cls) -> str:
        """The module that has the class."""
        raise NotImplementedError("a user-defined type says in which module() it is")

    def need_conversion(self) -> bool:
        """Objects always differ from SQL values."""
        return True

    def serialize(self, obj: Any) -> Any:
        """The SQL value of an object."""
        raise NotImplementedError("a user-defined type has a serialize()")

    def deserialize(self, datum: Any) -> Any:
        """The object of an SQL value."""
        raise NotImplementedError("a user-defined type has a deserialize()")

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of an object."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        """The object of an SQL value."""
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(sys.intern(type(self).__qualname__))
