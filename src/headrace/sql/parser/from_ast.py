"""sqlglot's expressions to our own (`headrace.sql.parser.syntax`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.functions.builtin.times import parse_date, parse_time, parse_timestamp
from headrace.sql.parser import syntax as x
from headrace.sql.parser.excerpts import SpannedError
from headrace.sql.parser.tree_nodes import Form, NamedArgument, TableArgument, TypeNode
from headrace.sql.types.intervals import interval_constant
from headrace.sql.types.type_rules import literal_type

__all__ = ["expression_node", "order_nodes", "over_of"]

_BINARY: dict[type, str] = {
    exp.Add: "PLUS",
    exp.Sub: "MINUS",
    exp.Mul: "TIMES",
    exp.Div: "DIVIDE",
    exp.Mod: "MOD",
    exp.EQ: "EQUALS",
    exp.NEQ: "NOT_EQUALS",
    exp.LT: "LESS_THAN",
    exp.LTE: "LESS_THAN_OR_EQUAL",
    exp.GT: "GREATER_THAN",
    exp.GTE: "GREATER_THAN_OR_EQUAL",
    exp.And: "AND",
    exp.Or: "OR",
    exp.DPipe: "CONCAT_OPERATOR",
    exp.NullSafeEQ: "IS_NOT_DISTINCT_FROM",
    exp.NullSafeNEQ: "IS_DISTINCT_FROM",
    exp.Like: "LIKE",
    exp.SimilarTo: "SIMILAR",
}

_WITHOUT_PARENTHESES = frozenset(
    {
        "CURRENT_TIMESTAMP",
        "CURRENT_DATE",
        "CURRENT_TIME",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "CURRENT_ROW_TIMESTAMP",
        "PI",
    }
)


def span_of(node: Any) -> x.Span | None:
    """Where the text has a node: that of itself, or of everything inside."""
    if _SPAN not in node.meta:
        start = node.meta.get("start")
        spans = [] if start is None else [(start, node.meta["end"])]
        spans += [span for inner in node.iter_expressions() if (span := span_of(inner))]
        found = (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None
        # Kept: whoever asks for all nodes of a long chain would walk through it again and again.
        node.meta[_SPAN] = found
    kept: x.Span | None = node.meta[_SPAN]
    return kept


_SPAN = "headrace_span"


def expression_node(node: Any) -> x.Node:
    """An expression."""
    if node is None:
        raise SqlError("an expression is missing")
    for kind in type(node).__mro__:
        convert = _CONVERTERS.get(kind)
        if convert is not None:
            return convert(node)
    raise SpannedError(f"{_shown(node)} is not supported here", span_of(node))


def _shown(node: Any) -> str:
    """A piece of the tree as text; types of ours have none there."""
    return node.key.upper() if node.find(TypeNode) else str(node.sql())


def _apply(name: Any, node: Any, *args: Any) -> x.Node:
    # A list: to Python 3.12.1, a generator in `tuple()` is one of the calls through C, of which it
    # allows few inside of one another.
    return x.Apply(name, tuple([expression_node(a) for a in args]), span=span_of(node))


def _binary(node: Any) -> x.Node:
    if isinstance(node.expression, exp.Any | exp.All):
        return _quantified(node)
    return _unless_negated(node, _apply(_BINARY[type(node)], node, node.this, node.expression))


def _unless_negated(node: Any, applied: x.Node) -> x.Node:
    """NOT LIKE comes as LIKE with a mark."""
    return x.Apply("NOT", (applied,), span=applied.span) if node.args.get("negate") else applied


def _literal(node: Any) -> x.Node:
    text = node.this
    if node.is_string:
        return x.Constant(text, literal_type(text), span=span_of(node))
    return number_constant(text, span_of(node))


def number_constant(text: str, span: x.Span | None = None) -> x.Constant:
    """A number as it is written: whole, exact, or with an exponent."""
    if "e" in text.lower():
        return x.Constant(float(text), t.DoubleType(False), span=span)
    whole, _, fraction = text.partition(".")
    if not fraction:
        value = int(whole)
        # The smallest number is written as one that is out of range, behind a minus.
        if value > 1 << 63:
            raise SpannedError(f"Numeric literal '{text}' out of range", span)
        return x.Constant(value, literal_type(value), span=span)
    # All digits count that are written: 0.5 is a DECIMAL(2, 1).
    type_ = t.DecimalType(len(whole) + len(fraction), len(fraction), False)
    return x.Constant(Decimal(text), type_, span=span)


def _column(node: Any) -> x.Node:
    parts = [p.name for p in node.parts]
    if isinstance(node.this, exp.Star):
        return x.Star(tuple(parts[:-1]), span=span_of(node))
    only = parts[0].upper()
    if len(parts) == 1 and only in _WITHOUT_PARENTHESES and not node.this.quoted:
        return x.Apply(only, (), span=span_of(node))
    return x.Name(tuple(parts), span=span_of(node))


def _dot(node: Any) -> x.Node:
    inner = expression_node(node.this)
    name = node.expression.name
    if isinstance(node.expression, exp.Anonymous):
        called = _called(node.expression)
        if isinstance(inner, x.Name):
            # A function of a catalog: the name keeps its dots.
            return replace(called, function=".".join((*inner.parts, called.function)))
        return called
    if isinstance(inner, x.Name):
        return x.Name((*inner.parts, name), span=span_of(node))
    constant = x.Constant(name, literal_type(name))
    return x.Apply("GET", (inner, constant), span=span_of(node))


def _form(node: Any) -> x.Node:
    """What the parser has read by a syntax of its own."""
    upper = node.name.upper()
    if upper in ("CAST", "TRY_CAST"):
        value, type_ = node.expressions
        return x.CastTo(
            expression_node(value), _cast_type(type_.this), upper == "TRY_CAST", span=span_of(node)
        )
    if upper == "JSON_VALUE_RETURNING":
        value, type_ = node.expressions
        return x.CastTo(expression_node(value), _cast_type(type_.this), True, span=span_of(node))
    if upper == "JSON_QUERY_RETURNING":
        return _apply("JSON_QUERY_ARRAY", node, *node.expressions[0].expressions)
    return replace(_called(node), by_name=False)


def _called(node: Any) -> x.Apply:
    """A call of a function by its name."""
    name = node.name if isinstance(node.this, str) else node.this.name
    arguments = node.expressions
    distinct = False
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        distinct, arguments = True, arguments[0].expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        arguments = []
    condition = None
    if len(arguments) == 1 and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
        if name.upper() != "ARRAY_AGG":
            raise SpannedError(
                f"Cannot specify IGNORE NULLS or RESPECT NULLS following '{name}'", span_of(node)
            )
        if isinstance(arguments[0], exp.IgnoreNulls):
            condition = x.Apply("IS_NOT_NULL", (expression_node(arguments[0].this),))
        arguments = [arguments[0].this]
    args = tuple(expression_node(a) for a in arguments)
    return x.Apply(name, args, distinct, condition, by_name=True, span=span_of(node))


def _filter(node: Any) -> x.Node:
    inner = expression_node(node.this)
    assert isinstance(inner, x.Apply)
    condition = expression_node(node.expression.this)
    if inner.condition is not None:
        condition = x.Apply("AND", (inner.condition, condition))
    return replace(inner, condition=condition)


def _window(node: Any) -> x.Node:
    inner = expression_node(node.this)
    assert isinstance(inner, x.Apply)
    return replace(inner, over=over_of(node))


def order_nodes(order: Any) -> tuple[x.Order, ...]:
    """The expressions of ORDER BY; NULL is the smallest value, as in Flink."""
    if order is None:
        return ()
    found = []
    for item in order.expressions:
        descending = bool(item.args.get("desc"))
        # sqlglot fills in its default; Flink's own is nulls first where ascending.
        explicit = item.args.get("nulls_first")
        nulls_first = not descending if explicit is None else bool(explicit)
        found.append(
            x.Order(expression_node(item.this), descending, nulls_first, span=span_of(item))
        )
    return tuple(found)


def over_of(node: Any) -> x.Over:
    """The window of OVER (...), OVER name, or WINDOW name AS (...)."""
    alias = node.args.get("alias")
    spec = node.args.get("spec")
    partition = tuple(expression_node(p) for p in node.args.get("partition_by") or ())
    order = order_nodes(node.args.get("order"))
    if alias is not None and not partition and not order and spec is None:
        return x.Over(name=alias.name, span=span_of(node))
    rows = start = end = None
    if spec is not None:
        rows = str(spec.args["kind"]).upper() == "ROWS"
        start = _bound(spec.args.get("start"), spec.args.get("start_side"))
        end = _bound(spec.args.get("end"), spec.args.get("end_side"))
    name = None if alias is None else alias.name
    return x.Over(partition, order, rows, start, end, name, span=span_of(node))


def _bound(value: Any, side: Any) -> x.Bound | None:
    if value is None:
        return None
    preceding = str(side or "PRECEDING").upper() == "PRECEDING"
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return x.Bound(None, current=True)
        return x.Bound(None, preceding)
    return x.Bound(expression_node(value), preceding)


def _case(node: Any) -> x.Node:
    subject = node.args.get("this")
    branches = []
    for branch in node.args["ifs"]:
        condition = expression_node(branch.this)
        if subject is not None:
            condition = x.Apply("EQUALS", (expression_node(subject), condition))
        branches.append((condition, expression_node(branch.args["true"])))
    default = node.args.get("default")
    otherwise = None if default is None else expression_node(default)
    return x.CaseWhen(tuple(branches), otherwise, span=span_of(node))


def _in(node: Any) -> x.Node:
    value = expression_node(node.this)
    query = node.args.get("query")
    if query is None and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        query = node.expressions[0]
    if query is not None:
        inner = query.this if isinstance(query, exp.Subquery) else query
        return x.Subquery("in", inner, value, span=span_of(node))
    items = tuple(expression_node(i) for i in node.expressions)
    return x.Apply("IN", (value, *items), span=span_of(node))


def _quantified(node: Any) -> x.Node:
    """A comparison with ANY or ALL rows of a query; those for equality are IN and NOT IN."""
    query = node.expression.this
    inner = query.this if isinstance(query, exp.Subquery) else query
    kind = "all" if isinstance(node.expression, exp.All) else "any"
    comparison, value, span = _BINARY[type(node)], expression_node(node.this), span_of(node)
    if (kind, comparison) == ("any", "EQUALS"):
        return x.Subquery("in", inner, value, span=span)
    if (kind, comparison) == ("all", "NOT_EQUALS"):
        return x.Apply("NOT", (x.Subquery("in", inner, value, span=span),), span=span)
    if comparison in ("EQUALS", "NOT_EQUALS"):
        # All are equal if none is less and none is greater.
        ends = ("GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL")
        parts = tuple(x.Subquery("all", inner, value, end, span=span) for end in ends)
        same = x.Apply("AND", parts, span=span)
        return same if kind == "all" else x.Apply("NOT", (same,), span=span)
    if not comparison.startswith(("LESS", "GREATER")) or not isinstance(inner, exp.Query):
        raise SqlError(f"{kind.upper()} takes a comparison with a subquery here")
    return x.Subquery(kind, inner, value, comparison, span=span)


def _not(node: Any) -> x.Node:
    inner = node.this
    if isinstance(inner, exp.Is):
        return _is(inner, negated=True)
    converted = expression_node(inner)
    if isinstance(converted, x.Apply) and converted.function == "IN":
        return x.Apply("NOT_IN", converted.args, span=converted.span)
    return x.Apply("NOT", (converted,), span=span_of(node))


def _is(node: Any, negated: bool = False) -> x.Node:
    word = "IS_NOT_" if negated else "IS_"
    right = node.expression
    if isinstance(right, exp.Null):
        return _apply(word + "NULL", node, node.this)
    if isinstance(right, exp.Boolean):
        return _apply(word + ("TRUE" if right.this else "FALSE"), node, node.this)
    name = right.name.upper()
    if name == "UNKNOWN":
        return _apply(word + "NULL", node, node.this)
    if name == "JSON" or isinstance(right, exp.JSON):
        kind = str(right.args.get("this") or "VALUE").upper()
        checked = _apply("IS_JSON", node, node.this, exp.Literal.string(kind))
        return x.Apply("NOT", (checked,)) if negated else checked
    raise SpannedError(f"IS {_shown(right)} is not supported", span_of(node))


def _between(node: Any) -> x.Node:
    if node.args.get("symmetric"):
        low, high = node.args["low"], node.args["high"]
        ways = [
            _apply("BETWEEN", node, node.this, first, last)
            for first, last in ((low, high), (high, low))
        ]
        return x.Apply("OR", tuple(ways), span=span_of(node))
    return _apply("BETWEEN", node, node.this, node.args["low"], node.args["high"])


def _escape(node: Any) -> x.Node:
    inner = node.this
    applied = _apply(_BINARY[type(inner)], node, inner.this, inner.expression, node.expression)
    return _unless_negated(inner, applied)


def _interval(node: Any) -> x.Node:
    value = node.this
    unit = node.args.get("unit")
    text = unit.sql() if unit is not None else ""
    if isinstance(value, exp.Literal):
        return interval_constant(value.this, text, span_of(node))
    if isinstance(value, exp.Neg):
        return interval_constant("-" + value.this.this, text, span_of(node))
    one = interval_constant("1", text)
    return x.Apply("TIMES", (expression_node(value), one), span=span_of(node))


def _cast_literal(node: Any) -> x.Node:
    """DATE '...', TIME '...' and TIMESTAMP '...'."""
    kind = node.args["to"].this.name
    text = node.this.this
    parsers: dict[str, tuple[Callable[[str], Any], Callable[[], t.DataType]]] = {
        "DATE": (parse_date, lambda: t.DateType(False)),
        "TIME": (parse_time, lambda: _cast_type(t.TimeType(_fraction_digits(text), False))),
        "TIMESTAMP": (parse_timestamp, lambda: t.TimestampType(_fraction_digits(text), False)),
    }
    if kind not in parsers or not isinstance(node.this, exp.Literal):
        raise SpannedError(
            f"{_shown(node)} is not supported; write CAST({text} AS {kind})", span_of(node)
        )
    parse, type_ = parsers[kind]
    value = parse(text)
    if value is None:
        raise SpannedError(f"{text!r} is not a {kind}", span_of(node))
    return x.Constant(value, type_(), span=span_of(node))


def _cast_type(type_: t.DataType) -> t.DataType:
    """The type of a cast to a type: as in Flink, times of day have at most three digits."""
    if isinstance(type_, t.TimeType) and type_.precision > 3:
        return t.TimeType(3, type_.is_nullable)
    return type_


def _fraction_digits(text: str) -> int:
    return min(len(text.partition(".")[2].rstrip()), 9)


def _bracket(node: Any) -> x.Node:
    inner = node.this
    if isinstance(inner, exp.Column) and inner.name.upper() == "MAP" and not inner.this.quoted:
        return _apply("MAP", node, *node.expressions)
    return _apply("ITEM", node, inner, *node.expressions)


def _alias(node: Any) -> x.Node:
    return x.Alias(expression_node(node.this), node.alias, span=span_of(node))


def _subquery(node: Any) -> x.Node:
    return x.Subquery("scalar", node.this, span=span_of(node))


def _select(node: Any) -> x.Node:
    return x.Subquery("scalar", node, span=span_of(node))


def _exists(node: Any) -> x.Node:
    return x.Subquery("exists", node.this, span=span_of(node))


def _negated(node: Any) -> x.Node:
    inner = expression_node(node.this)
    if isinstance(inner, x.Constant) and isinstance(inner.type, t.NumericType):
        type_ = literal_type(-inner.value) if isinstance(inner.value, int) else inner.type
        return x.Constant(-inner.value, type_, span=span_of(node))
    return x.Apply("MINUS_PREFIX", (inner,), span=span_of(node))


def _array(node: Any) -> x.Node:
    return _apply("ARRAY", node, *node.expressions)


def _map(node: Any) -> x.Node:
    keys, values = node.args.get("keys"), node.args.get("values")
    if keys is None:
        return _apply("MAP", node, *node.expressions)
    pairs = zip(keys.expressions, values.expressions, strict=True)
    return _apply("MAP", node, *(part for pair in pairs for part in pair))


def _overlaps(node: Any) -> x.Node:
    return _apply("OVERLAPS", node, *node.this.expressions[:2], *node.expression.expressions[:2])


def _tuple(node: Any) -> x.Node:
    return _apply("ROW", node, *node.expressions)


def _hex(node: Any) -> x.Node:
    try:
        value = bytes.fromhex(str(node.this))
    except ValueError:
        raise SpannedError(
            "Binary literal string must contain an even number of hexits", span_of(node)
        ) from None
    return x.Constant(value, literal_type(value), span=span_of(node))


def _unicode(node: Any) -> x.Node:
    r"""`U&'\00e9'`: codes of characters behind an escape, which is doubled to mean itself."""
    escape = node.args.get("escape")
    sign = re.escape(escape.name if escape else "\\")
    value = re.sub(
        rf"{sign}(?:([0-9A-Fa-f]{{4}})|\+([0-9A-Fa-f]{{6}})|({sign}))",
        lambda m: m[3] or chr(int(m[1] or m[2], 16)),
        str(node.this),
    )
    return x.Constant(value, literal_type(value), span=span_of(node))


def _unsupported(node: Any) -> x.Node:
    raise SpannedError(f"{type(node).__name__} is not allowed here", span_of(node))


_CONVERTERS: dict[type, Callable[[Any], x.Node]] = {
    **dict.fromkeys(_BINARY, _binary),
    exp.Literal: _literal,
    exp.UnicodeString: _unicode,
    exp.Null: lambda n: x.Constant(None, t.NullType(), span=span_of(n)),
    exp.Boolean: lambda n: x.Constant(bool(n.this), t.BooleanType(False), span=span_of(n)),
    exp.Column: _column,
    exp.Identifier: lambda n: x.Name((n.name,), span=span_of(n)),
    exp.Var: lambda n: x.Name((n.name,), span=span_of(n)),
    exp.Dot: _dot,
    exp.Anonymous: _called,
    Form: _form,
    exp.Filter: _filter,
    exp.Window: _window,
    exp.Case: _case,
    exp.In: _in,
    exp.Not: _not,
    exp.Is: _is,
    exp.Between: _between,
    exp.Escape: _escape,
    exp.Interval: _interval,
    exp.Cast: _cast_literal,
    exp.Bracket: _bracket,
    exp.Paren: lambda n: expression_node(n.this),
    exp.Alias: _alias,
    exp.Subquery: _subquery,
    exp.Select: _select,
    exp.Exists: _exists,
    exp.Neg: _negated,
    exp.Array: _array,
    exp.Map: _map,
    exp.Overlaps: _overlaps,
    exp.Tuple: _tuple,
    exp.Star: lambda n: x.Star(span=span_of(n)),
    exp.HexString: _hex,
    TypeNode: _unsupported,
    TableArgument: _unsupported,
    NamedArgument: _unsupported,
}
