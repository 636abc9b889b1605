"""`TableDescriptor` and `FormatDescriptor`: tables without SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common.java.order import java_order
from headrace.sql.catalog import TableEntry
from headrace.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


def _key(option: Any) -> str:
    return option if isinstance(option, str) else str(option.key)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class FormatDescriptor:
    """A format and its options."""

    def __init__(self, name: str, options: dict[str, str]) -> None:
        self._name = name
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begin with a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self._name

    def get_options(self) -> dict[str, str]:
        """Its options, without the name before them."""
        return dict(self._options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self._name}[{{{', '.join(f'{k}={v}' for k, v in self._options.items())}}}]"

    class Builder:
        """Collects options."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def build(self) -> FormatDescriptor:
            """The format."""
            return FormatDescriptor(self._name, dict(self._options))


class TableDescriptor:
    """A table: connector, schema, options.

    Example:
        >>> TableDescriptor.for_connector("datagen").schema(schema).option(
        ...     "number-of-rows", "10"
        ... ).build()
    """

    def __init__(
        self,
        schema: Schema | None,
        options: dict[str, str],
        partition_keys: tuple[str, ...],
        comment: str | None,
    ) -> None:
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Begin with a connector."""
        return TableDescriptor.Builder().option("connector", connector)

    def get_schema(self) -> Schema | None:
        """The columns."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """All options."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """Names of columns."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._comment

    def entry(self) -> TableEntry:
        """The table as a catalog keeps it."""
        return replace(
            (self._schema or Schema()).entry(),
            partition_keys=self._partition_keys,
            options=dict(self._options),
            comment=self._comment,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        order = java_order(self._options)
        options = ",\n".join(f"  '{k}' = '{self._options[k]}'" for k in order)
        comment = "" if self._comment is None else f"COMMENT '{self._comment}'\n"
        keys = ", ".join(f"`{k}`" for k in self._partition_keys)
        partitions = f"PARTITIONED BY ({keys})\n" if keys else ""
        return f"{self._schema or ''}\n{comment}{partitions}WITH (\n{options}\n)"

    class Builder:
        """Collects the parts of a table."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """The columns."""
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            """Set the format, with its options."""
            key = "format" if format_option is None else _key(format_option)
            prefix = "" if key == "format" else key.removesuffix("format")
            if isinstance(format, str):
                self._options[key] = format
                return self
            name = format.get_format()
            self._options[key] = name
            for option, value in format.get_options().items():
                self._options[f"{prefix}{name}.{option}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Columns that files are divided by."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """A note."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The table."""
            return TableDescriptor(
                self._schema, dict(self._options), self._partition_keys, self._comment
            )
