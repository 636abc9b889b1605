"""Binds OBJECT_OF and OBJECT_UPDATE: rows with the name of a class, and fields by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql import types as t
from headrace.sql.binder.context import suggestion
from headrace.sql.parser import syntax as x
from headrace.sql.plan.expressions import Call, Expression, Literal
from headrace.sql.types.type_rules import literal_type

if TYPE_CHECKING:
    from headrace.sql.binder.expressions import ExpressionBinder

__all__ = ["bind_object_of", "bind_object_update"]


def bind_object_of(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """OBJECT_OF('class', 'field', value, ...)."""
    named = _named_values(binder, node)
    fields = [t.RowField(name, value.type) for name, value in named.items()]
    type_ = t.StructuredType(_word(binder, node, node.args[0]), fields)
    return Call(type_, binder.context.registry.find("OBJECT_OF"), tuple(named.values()))


def bind_object_update(binder: ExpressionBinder, node: x.Apply) -> Expression:
    """OBJECT_UPDATE(object, 'field', value, ...)."""
    named = _named_values(binder, node)
    bound = binder.bind(node.args[0])
    if not isinstance(bound.type, t.StructuredType):
        raise binder.context.error(
            f"OBJECT_UPDATE takes an object, not {bound.type.sql_text()}", node.span
        )
    types = {f.name: f.data_type for f in bound.type.fields}
    changes: list[Expression] = []
    for name, value in named.items():
        if name not in types:
            hint = suggestion(name, types)
            raise binder.context.error(f"Field '{name}' not found{hint}", node.span)
        index = list(types).index(name)
        types[name] = value.type
        changes += [Literal(literal_type(index), index), value]
    fields = [t.RowField(name, type_) for name, type_ in types.items()]
    result = t.StructuredType(bound.type.class_name, fields, bound.type.is_nullable)
    return Call(result, binder.context.registry.find("OBJECT_UPDATE"), (bound, *changes))


def _named_values(binder: ExpressionBinder, node: x.Apply) -> dict[str, Expression]:
    """The names and values in turn that follow the first argument."""
    if len(node.args) % 2 == 0:
        raise binder.context.error(f"{node.function} takes names and values in turn", node.span)
    names, values = node.args[1::2], node.args[2::2]
    return {_word(binder, node, n): binder.bind(v) for n, v in zip(names, values, strict=True)}


def _word(binder: ExpressionBinder, node: x.Apply, given: x.Node) -> str:
    if not isinstance(given, x.Constant) or not isinstance(given.value, str):
        raise binder.context.error(f"{node.function} takes names as constant texts", node.span)
    return given.value
