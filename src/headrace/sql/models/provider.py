"""What provides a model: found by the option 'provider', it makes the function that slots run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.catalog.declared_options import DeclaredOptions
from headrace.sql.discovery import find_by_option
from headrace.sql.plan.expressions import Schema
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits

__all__ = ["ModelContext", "ModelProvider", "model_provider"]

_PROVIDERS: dict[str, str] = {
    "openai": "headrace.sql.models.openai:openai_provider",
    "python": "headrace.sql.models.python_model:python_provider",
}


@dataclass
class ModelContext(DeclaredOptions):
    """A model as its provider sees it; options that were read are remembered.

    Attributes:
        path: Its full name.
        inputs: The columns that go in.
        outputs: The columns that come out.
        options: Of WITH.
        metadata: Columns of the output that say something about the call: position to key.
        zone: The session's time zone.
        object: What a program registered as the model, if it did.
    """

    kind = "model"
    finder = "provider"

    path: tuple[str, ...]
    inputs: Schema
    outputs: Schema
    options: dict[str, str]
    metadata: dict[int, str] = field(default_factory=dict)
    zone: str = "UTC"
    object: Any = None
    _used: set[str] = field(default_factory=lambda: {"provider"})


class ModelProvider(ABC):
    """A model that can be asked."""

    #: What it is called in messages.
    name: str

    #: Whether it can be asked one batch after the other, and several at the same time.
    synchronous = False
    asynchronous = False

    @abstractmethod
    def function(self, limits: CallLimits) -> BatchTableFunction:
        """What a slot runs: rows of input columns to rows of output columns."""


def model_provider(context: ModelContext) -> ModelProvider:
    """The provider that a model's options name."""
    try:
        found = find_by_option(_PROVIDERS, context.options, "provider", "Model options")
        provider: ModelProvider = found(context)
        return provider
    except SqlError as error:
        raise SqlError(
            f"Unable to create a model provider for model '{context.name}': {error}"
        ) from error
