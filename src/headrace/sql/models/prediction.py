"""ML_PREDICT as a plan has it: a model with how it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql.models.provider import ModelProvider
from headrace.sql.plan.call_config import CallConfig
from headrace.sql.types import DataType
from headrace.sql.udf.batch_table import BatchTableFunction

__all__ = ["Prediction"]


@dataclass(frozen=True)
class Prediction:
    """A function of the model's input columns."""

    model: tuple[str, ...]
    provider: ModelProvider
    config: CallConfig

    name = "ML_PREDICT"
    batched = True

    def text(self, arguments: str) -> str:
        """As plans show it."""
        return f"ML_PREDICT(MODEL {'.'.join(self.model)}, {arguments})"

    def batch_bound(
        self, types: tuple[DataType, ...], result: DataType, settings: Any
    ) -> BatchTableFunction:
        """The function for slots."""
        return self.provider.function(self.config.limits(settings.model_calls))
