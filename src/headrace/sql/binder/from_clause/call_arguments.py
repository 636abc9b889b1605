"""Arguments of table functions that are not values: DESCRIPTOR, MODEL and maps of options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.models.provider import ModelContext
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node, span_of
from headrace.sql.parser.tree_nodes import ModelArgument

__all__ = ["descriptor_names", "model_of", "options_of", "unique_names"]

NameAt = tuple[str, x.Span | None]
"""A column with its place in the text."""


def descriptor_names(context: BindingContext, tree: Any, message: str) -> list[NameAt]:
    """The simple names of a DESCRIPTOR."""
    found: list[NameAt] = []
    if isinstance(tree, exp.Anonymous) and tree.name.upper() == "DESCRIPTOR":
        nodes = [expression_node(e) for e in tree.expressions]
        found = [(n.parts[0], n.span) for n in nodes if isinstance(n, x.Name) and len(n.parts) == 1]
    if not found or len(found) != len(tree.expressions):
        raise context.error(message, span_of(tree))
    return found


def model_of(context: BindingContext, tree: Any) -> ModelContext:
    """The model that `MODEL m` names."""
    if not isinstance(tree, ModelArgument):
        raise context.error(
            "Invalid argument value. Argument 'MODEL' expects a model to be passed: MODEL m",
            span_of(tree),
        )
    path = tuple(p.name for p in tree.this.parts)
    found = context.find_model(path)
    if found is None:
        hint = suggestion(path[-1], context.model_names())
        raise context.error(f"Object '{'.'.join(path)}' not found{hint}", span_of(tree.this))
    return found


def options_of(context: BindingContext, tree: Any) -> dict[str, str]:
    """A map of constant texts; empty if there is none."""
    if tree is None:
        return {}
    node = expression_node(tree)
    if not isinstance(node, x.Apply) or node.function != "MAP":
        raise context.error("Config param should be a MAP.", span_of(tree))
    texts = [a.value for a in node.args if isinstance(a, x.Constant) and isinstance(a.value, str)]
    if len(texts) != len(node.args):
        raise context.error(
            "Config parameter should be a MAP data type consisting of String literals.",
            span_of(tree),
        )
    return dict(zip(texts[::2], texts[1::2], strict=True))


def unique_names(taken: Iterable[str], names: Sequence[str]) -> list[str]:
    """Names with a number behind those that are taken."""
    known, found = set(taken), []
    for name in names:
        numbers = (f"{name}{i}" for i in range(len(known) + 1))
        found.append(name if name not in known else next(n for n in numbers if n not in known))
        known.add(found[-1])
    return found
