"""Models that are Python objects: `'provider' = 'python'`."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.models.predict_function import PythonPredictions
from headrace.sql.models.provider import ModelContext, ModelProvider
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits

__all__ = ["python_provider"]


class PythonModel(ModelProvider):
    """A Python object and the model that it was declared as."""

    def __init__(self, given: Any, context: ModelContext) -> None:
        self._given = given
        self._context = context
        call = getattr(given, "predict", given)
        self.asynchronous = inspect.iscoroutinefunction(call)
        self.synchronous = not self.asynchronous
        kind = given if isinstance(given, type) or inspect.isroutine(given) else type(given)
        self.name = f"{getattr(kind, '__module__', 'builtins')}.{kind.__qualname__}"

    def function(self, limits: CallLimits) -> BatchTableFunction:
        context = self._context
        return PythonPredictions(
            self._given,
            context.name,
            context.inputs,
            context.outputs,
            context.options,
            context.zone,
            limits if self.asynchronous else None,
        )


def python_provider(context: ModelContext) -> PythonModel:
    """The object that a program registered, or that the option 'predict' names."""
    given = context.object
    if given is None:
        given = _loaded(context.required("predict"), context.name)
    if not callable(getattr(given, "predict", given)) or (
        isinstance(given, type) and not hasattr(given, "predict")
    ):
        raise SqlError(
            f"model {context.name} must have a method predict(), or be a function of a DataFrame: "
            f"{given!r}"
        )
    for what, schema in (("INPUT", context.inputs), ("OUTPUT", context.outputs)):
        if not len(schema):
            raise SqlError(f"model {context.name} has no {what} columns")
    return PythonModel(given, context)


def _loaded(name: str, model: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(
            f"option 'predict' of model {model} names a class, an object or a function as "
            f"module:name, but '{name}' cannot be loaded: {error}"
        ) from error
