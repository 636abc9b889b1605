"""`ModelDescriptor`: a model to be kept in a catalog."""

from __future__ import annotations

from typing import Any

from headrace.common.java.order import java_order
from headrace.sql.catalog import ModelEntry
from headrace.table.schema import Schema

__all__ = ["ModelDescriptor"]


class ModelDescriptor:
    """A provider, columns in and out, options and a comment.

    The provider is a name, or a Python object with a method `predict`, or its class.

    Example:
        >>> ModelDescriptor.for_provider(Lengths).input_schema(texts).output_schema(
        ...     lengths
        ... ).build()
    """

    def __init__(
        self,
        inputs: Schema | None,
        outputs: Schema | None,
        options: dict[str, str],
        comment: str | None,
        object: Any = None,
    ) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._object = object
        self._options = options
        self._comment = comment

    @staticmethod
    def for_provider(provider: Any) -> ModelDescriptor.Builder:
        """Begin with a provider."""
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        """All options."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """The columns that go in."""
        return self._inputs

    def get_output_schema(self) -> Schema | None:
        """The columns that come out."""
        return self._outputs

    def get_comment(self) -> str | None:
        """What the user wrote."""
        return self._comment

    def entry(self) -> ModelEntry:
        """The model for a catalog."""
        return ModelEntry(
            () if self._inputs is None else self._inputs.columns,
            () if self._outputs is None else self._outputs.columns,
            dict(self._options),
            self._comment,
            self._object,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        options = ",\n".join(f"  '{k}' = '{self._options[k]}'" for k in java_order(self._options))
        comment = f"COMMENT '{self._comment or ''}'"
        return f"{self._inputs or ''}\n{self._outputs or ''}\n{comment}\nWITH (\n{options}\n)"

    class Builder:
        """Collects the parts of a model."""

        def __init__(self, provider: Any) -> None:
            self._inputs: Schema | None = None
            self._outputs: Schema | None = None
            named = isinstance(provider, str)
            self._object = None if named else provider
            self._options = {"provider": provider if named else "python"}
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """The columns that go in."""
            self._inputs = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """The columns that come out."""
            self._outputs = output_schema
            return self

        def option(self, key: Any, value: Any) -> ModelDescriptor.Builder:
            """Set an option."""
            name = key if isinstance(key, str) else str(key.key)
            self._options[name] = str(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """A note."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """The model."""
            options = dict(self._options)
            return ModelDescriptor(
                self._inputs, self._outputs, options, self._comment, self._object
            )
