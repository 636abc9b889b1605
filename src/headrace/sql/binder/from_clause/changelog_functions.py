"""Binds TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.common.types import RowKind
from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types.data_types import DataTypes

__all__ = ["CHANGELOG_FUNCTIONS", "bind_from_changelog", "bind_to_changelog"]

_KINDS = [kind.name for kind in RowKind]


def bind_to_changelog(
    context: BindingContext, plan: n.Node, given: Mapping[str, x.Node], span: x.Span | None = None
) -> n.Node:
    """Each change becomes a row whose first column is the code of its kind."""
    if context.batch:
        raise context.error("TO_CHANGELOG is for changes, which only streams have", span)
    op = _op_column(context, given)
    codes: dict[str, str] = dict(zip(_KINDS, _KINDS, strict=True))
    if "OP_MAPPING" in given:
        codes = {}
        for names, code, place in _mapping(context, given["OP_MAPPING"]):
            for kind in _names(names):
                _check_kind(context, kind, place)
                if kind in codes:
                    raise context.error(
                        "Invalid target mapping for argument 'op_mapping'. Duplicate change "
                        f"operation: '{kind}'.",
                        place,
                    )
                codes[kind] = code
    if op in plan.schema.names:
        raise context.error(
            f"Field names must be unique. Found duplicates: [{op}]. Name the column of codes with "
            "op => DESCRIPTOR(...)",
            span,
        )
    fields = (Field(op, DataTypes.STRING()), *(Field(f.name, f.type) for f in plan.schema))
    by_number = tuple(codes.get(kind) for kind in _KINDS)
    return n.ToChangelog(Schema(fields), plan, by_number, origin=context.excerpt(span))


def bind_from_changelog(
    context: BindingContext, plan: n.Node, given: Mapping[str, x.Node], span: x.Span | None = None
) -> n.Node:
    """Each row becomes a change of the kind that its code stands for."""
    if context.batch:
        raise context.error("FROM_CHANGELOG makes changes, which only streams have", span)
    op = _op_column(context, given)
    if op not in plan.schema.names:
        raise context.error(f"The op column '{op}' does not exist in the input schema.", span)
    index = plan.schema.names.index(op)
    type_ = plan.schema[index].type
    if not isinstance(type_, t.CharType | t.VarCharType):
        raise context.error(
            f"The op column '{op}' must be of STRING type, but was '{type_.sql_text()}'.", span
        )
    kinds = [(kind, number) for number, kind in enumerate(_KINDS)]
    if "OP_MAPPING" in given:
        kinds = _given_kinds(context, given["OP_MAPPING"])
    fields = tuple(Field(f.name, f.type) for i, f in enumerate(plan.schema) if i != index)
    origin = context.excerpt(span)
    return n.FromChangelog(Schema(fields), plan, index, tuple(kinds), origin=origin)


def _given_kinds(context: BindingContext, mapping: x.Node) -> list[tuple[str, int]]:
    kinds: dict[str, list[str]] = {}
    for codes, kind, span in _mapping(context, mapping):
        _check_kind(context, kind, span)
        if kind in kinds:
            raise context.error(
                "Invalid target mapping for argument 'op_mapping'. Duplicate change operation: "
                f"'{kind}'. Use comma-separated keys to map multiple codes to the same operation "
                "(e.g., MAP['c, r', 'INSERT']).",
                span,
            )
        kinds[kind] = _names(codes)
    if "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds:
        raise context.error(
            "The 'op_mapping' must include UPDATE_BEFORE for retract mode. Upsert mode (without "
            "UPDATE_BEFORE) is not supported in this version.",
            mapping.span,
        )
    return [(code, _KINDS.index(kind)) for kind, codes in kinds.items() for code in codes]


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _check_kind(context: BindingContext, kind: str, span: x.Span | None) -> None:
    if kind not in _KINDS:
        raise context.error(
            "Invalid target mapping for argument 'op_mapping'. Unknown change operation: "
            f"'{kind}'. Valid values are: [{', '.join(_KINDS)}].",
            span,
        )


def _op_column(context: BindingContext, given: Mapping[str, x.Node]) -> str:
    """The name of the column with codes."""
    descriptor = given.get("OP")
    if descriptor is None:
        return "op"
    if not isinstance(descriptor, x.Descriptor) or len(descriptor.names) != 1:
        raise context.error(
            "The descriptor for argument 'op' must contain exactly one column name.",
            descriptor.span,
        )
    return descriptor.names[0]


def _mapping(context: BindingContext, node: x.Node) -> list[tuple[str, str, x.Span | None]]:
    """The keys and values of a map, with the places of the keys or values."""
    parts = node.args if isinstance(node, x.Apply) and node.function == "MAP" else ()
    texts = [p.value for p in parts if isinstance(p, x.Constant) and isinstance(p.value, str)]
    if not parts or len(texts) != len(parts) or len(parts) % 2:
        raise context.error("The 'op_mapping' argument must be a constant MAP literal.", node.span)
    spans = [p.span for p in parts]
    # Of equal keys of a map, the last one counts.
    by_key = {
        key: (key, value, span)
        for key, value, span in zip(texts[::2], texts[1::2], spans[::2], strict=True)
    }
    return list(by_key.values())


CHANGELOG_FUNCTIONS = {
    "TO_CHANGELOG": bind_to_changelog,
    "FROM_CHANGELOG": bind_from_changelog,
}
"""By name; arguments are `OP`, a descriptor, and `OP_MAPPING`, a map."""
