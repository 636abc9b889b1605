"""What all SQL types have in common."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from headrace.common.errors import FunctionTypeError


class DataTypeError(FunctionTypeError, AssertionError):
    """A type was made of arguments that it does not have; PyFlink asserts them."""


def check(holds: bool, message: str) -> None:
    """Refuses an argument of a type."""
    if not holds:
        raise DataTypeError(message)


def check_types(**types: object) -> None:
    """Refuses what is not a type, of what a type is made of."""
    for name, given in types.items():
        check(isinstance(given, DataType), f"{name} {given} should be an instance of {DataType}")


class DataType:
    """Base of all types. A type is nullable unless it says otherwise."""

    root: ClassVar[str] = ""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable
        self._conversion_cls = ""

    @property
    def is_nullable(self) -> bool:
        """Whether NULL is a value of the type."""
        return self._nullable

    def _same(self) -> tuple[Any, ...]:
        """What two equal types have in common, nullability apart."""
        return ()

    def with_nullable(self, nullable: bool) -> Any:
        """The type with another nullability; itself if it has that."""
        if nullable == self._nullable:
            return self
        other = copy.copy(self)
        other._nullable = nullable
        return other

    def same_but_null(self, other: DataType) -> bool:
        """Whether the types are equal, nullability of the outer type apart."""
        return type(self) is type(other) and self._same() == other._same()

    def sql_text(self) -> str:
        """The type as SQL writes it, such as `INT NOT NULL`."""
        return self._sql() if self._nullable else f"{self._sql()} NOT NULL"

    def _sql(self) -> str:
        return self.root

    @classmethod
    def type_name(cls) -> str:
        """The name of the class in capitals, without `Type`."""
        return cls.__name__[:-4].upper()

    def bridged_to(self, conversion_cls: str) -> DataType:
        """Accepted as in PyFlink; there are no Java classes to convert to."""
        self._conversion_cls = conversion_cls
        return self

    def nullable(self) -> Any:
        """The type with NULL."""
        return self.with_nullable(True)

    def not_null(self) -> Any:
        """The type without NULL."""
        return self.with_nullable(False)

    def need_conversion(self) -> bool:
        """Whether Python objects and SQL values of the type differ."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of a Python object."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The Python object of an SQL value."""
        return obj

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DataType)
            and self.same_but_null(other)
            and self._nullable == other._nullable
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._nullable, repr(self)))

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        parts = [*map(repr, self._same()), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"
