"""Errors of catalogs and tables, under the names that PyFlink gives them."""

from __future__ import annotations

from headrace.common.errors import SqlError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class JavaException(SqlError):
    """Base of the errors that PyFlink has classes of its own for."""

    @property
    def stack_trace(self) -> str:
        """The text of the error."""
        return str(self)


class TableException(JavaException):
    """Something went wrong in the Table API."""


class CatalogException(JavaException):
    """A catalog could not do what it was asked for."""


class DatabaseAlreadyExistException(CatalogException):
    """There already is a database of that name."""


class DatabaseNotEmptyException(CatalogException):
    """A database that still holds tables cannot be dropped."""


class DatabaseNotExistException(CatalogException):
    """There is no database of that name."""


class FunctionAlreadyExistException(CatalogException):
    """There already is a function of that name."""


class FunctionNotExistException(CatalogException):
    """There is no function of that name."""


class ModelAlreadyExistException(CatalogException):
    """There already is a model of that name."""


class ModelNotExistException(CatalogException):
    """There is no model of that name."""


class PartitionAlreadyExistsException(CatalogException):
    """The table already has that partition."""


class PartitionNotExistException(CatalogException):
    """The table has no such partition."""


class PartitionSpecInvalidException(CatalogException):
    """A partition is described by keys that are not those of the table."""


class TableAlreadyExistException(CatalogException):
    """There already is a table or view of that name."""


class TableNotExistException(CatalogException):
    """There is no table or view of that name."""


class TableNotPartitionedException(CatalogException):
    """The table has no partitions."""
