"""Binds ML_PREDICT and ML_EVALUATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.from_clause.call_arguments import (
    NameAt,
    descriptor_names,
    model_of,
    options_of,
    unique_names,
)
from headrace.sql.binder.scope import Scope
from headrace.sql.models.metrics import TASKS, metrics_function
from headrace.sql.models.prediction import Prediction
from headrace.sql.models.provider import ModelContext, model_provider
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.plan import nodes as n
from headrace.sql.plan.batch_tables import MLPredictTableFunction
from headrace.sql.plan.call_config import CallConfig
from headrace.sql.plan.expressions import AggregateCall, Expression, Field, Schema
from headrace.sql.types.implicit_casts import casts_implicitly
from headrace.sql.types.type_rules import string_type

__all__ = ["bind_evaluate", "bind_predict", "predicted"]


def bind_predict(context: BindingContext, plan: n.Node, given: dict[str, Any], call: Any) -> n.Node:
    """Rows with what a model predicts of some of their columns."""
    model = model_of(context, given["MODEL"])
    columns = descriptor_names(
        context,
        given["ARGS"],
        "Third argument must be a descriptor with simple column names for ML_PREDICT function.",
    )
    config = options_of(context, given.get("CONFIG"))
    return predicted(context, plan, model, columns, config, span_of(call))


def predicted(
    context: BindingContext,
    plan: n.Node,
    model: ModelContext,
    columns: Sequence[NameAt],
    config: Mapping[str, str],
    span: x.Span | None = None,
) -> n.Node:
    """The rows of a plan, then the output columns of a model."""
    arguments = _arguments(context, plan, model, columns, span)
    try:
        provider = model_provider(model)
        call = CallConfig.of(config)
        call.check("model provider", provider.name, provider.synchronous, provider.asynchronous)
    except SqlError as error:
        raise context.error(str(error), span) from error
    names = unique_names(plan.schema.names, model.outputs.names)
    made = [Field(name, f.type) for name, f in zip(names, model.outputs, strict=True)]
    return MLPredictTableFunction(
        Schema((*plan.schema, *made)),
        plan,
        Prediction(model.path, provider, call),
        tuple(arguments),
        origin=context.excerpt(span),
    )


def _arguments(
    context: BindingContext,
    plan: n.Node,
    model: ModelContext,
    columns: Sequence[NameAt],
    span: x.Span | None,
) -> list[Expression]:
    """The columns of a plan as the input columns of a model."""
    found = [_column(context, plan, name, at) for name, at in columns]
    if len(found) != len(model.inputs):
        raise context.error(
            f"Number of descriptor columns ({len(found)}) does not match model input size "
            f"({len(model.inputs)}).",
            span,
        )
    scope = Scope(context)
    scope.add(None, plan.schema)
    binder = ExpressionBinder(context, scope)
    arguments = []
    for number, (e, wanted, (name, at)) in enumerate(
        zip(found, model.inputs, columns, strict=True)
    ):
        if not casts_implicitly(e.type, wanted.type):
            raise context.error(
                f"Descriptor column '{name}' type {e.type.sql_text()} cannot be assigned to model "
                f"input type {wanted.type.sql_text()} at position {number}.",
                at,
            )
        arguments.append(binder.coerce(e, wanted.type))
    return arguments


def _column(context: BindingContext, plan: n.Node, name: str, at: x.Span | None) -> Expression:
    names = plan.schema.names
    if name not in names:
        raise context.error(
            f"Descriptor column '{name}' not found in table columns. Available columns: "
            f"{', '.join(names)}.",
            at,
        )
    return plan.schema.column(names.index(name))


def bind_evaluate(
    context: BindingContext, plan: n.Node, given: dict[str, Any], call: Any
) -> n.Node:
    """One row with a map of metrics: how well a model predicts a column."""
    model = model_of(context, given["MODEL"])
    label, prediction = _label(context, plan, model, given["LABEL"])
    columns = descriptor_names(
        context, given["ARGS"], "Argument 'ARGS' of ML_EVALUATE must be a descriptor with columns."
    )
    task = _task(context, given["TASK"])
    config = options_of(context, given.get("CONFIG"))
    rows = predicted(context, plan, model, columns, config, span_of(call))
    scope = Scope(context)
    scope.add(None, rows.schema)
    wanted = ExpressionBinder(context, scope).coerce(label, prediction)
    pairs = n.Project.of(rows, [wanted, rows.schema.columns()[-1]], ["label", "prediction"])
    try:
        function = metrics_function(task, config.get("metrics"), prediction)
    except SqlError as error:
        raise context.error(str(error), span_of(given["TASK"])) from error
    result = t.MapType(string_type(), t.DoubleType())
    types = tuple(pairs.schema.types)
    metrics = AggregateCall(function, (0, 1), result, "result", arg_types=types)
    return n.Aggregate(Schema((Field("result", result),)), pairs, (), (metrics,))


def _label(
    context: BindingContext, plan: n.Node, model: ModelContext, tree: Any
) -> tuple[Expression, t.DataType]:
    """The column that a model should have predicted, and the type of its prediction."""
    names = descriptor_names(
        context, tree, "Argument 'LABEL' of ML_EVALUATE must be a descriptor with a column."
    )
    if len(names) != 1:
        raise context.error(
            "Label descriptor must have exactly one column for evaluation.", span_of(tree)
        )
    if len(model.outputs) != 1:
        raise context.error(
            "Model output must have exactly one field for evaluation.", span_of(tree)
        )
    name, at = names[0]
    label, prediction = _column(context, plan, name, at), model.outputs.types[0]
    if not casts_implicitly(label.type, prediction):
        raise context.error(
            f"Label descriptor column type {label.type.sql_text()} cannot be assigned to model "
            f"output type {prediction.sql_text()} for evaluation.",
            at,
        )
    return label, prediction


def _task(context: BindingContext, tree: Any) -> str:
    node = expression_node(tree)
    if not isinstance(node, x.Constant) or not isinstance(node.value, str):
        raise context.error("Expected a valid task string literal.", span_of(tree))
    if node.value.upper() not in TASKS:
        raise context.error(
            f"Unsupported task: {node.value}. Supported tasks are: [{', '.join(TASKS)}].",
            span_of(tree),
        )
    return node.value.upper()
