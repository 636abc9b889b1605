"""What sqlglot reads, but Flink or headrace does not have: refused with the place in the text."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from headrace.sql.parser.excerpts import SpannedError
from headrace.sql.parser.from_ast import span_of
from headrace.sql.parser.syntax import Span

__all__ = ["check_supported_syntax", "join_span"]

_QUERY = frozenset({"with_", "this", "alias", "joins", "order", "limit", "offset"})

# The parts of nodes that the binder looks at; whatever else is there would be overlooked.
_KNOWN: dict[type, frozenset[str]] = {
    exp.Select: _QUERY
    | {"expressions", "distinct", "from_", "where", "group", "having", "qualify", "windows"},
    exp.Subquery: _QUERY,
    exp.SetOperation: _QUERY | {"expression", "distinct"},
    exp.Table: frozenset({"this", "alias", "db", "catalog", "joins", "version"}),
    exp.Star: frozenset(),
    exp.With: frozenset({"expressions"}),
    exp.Group: frozenset({"expressions", "grouping_sets", "cube", "rollup"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Limit: frozenset({"this", "expression", "offset"}),
    exp.Distinct: frozenset({"expressions"}),
}

_WORDS = {
    "all": "GROUP BY ALL",
    "by_name": "BY NAME",
    "cluster": "CLUSTER BY",
    "connect": "CONNECT BY",
    "distribute": "DISTRIBUTE BY",
    "except_": "EXCEPT",
    "exclude": "EXCLUDE",
    "expressions": "BY",
    "laterals": "LATERAL VIEW",
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "on": "ON",
    "pivots": "PIVOT",
    "recursive": "RECURSIVE",
    "rename": "RENAME",
    "replace": "REPLACE",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "totals": "WITH TOTALS",
}


def check_supported_syntax(tree: Any, text: str) -> None:
    """Refuses parts of a query that would otherwise be read and forgotten."""
    for node in tree.walk():
        known = next((_KNOWN[k] for k in type(node).__mro__ if k in _KNOWN), None)
        if known is None:
            continue
        for name, value in node.args.items():
            if value and name not in known:
                words = _WORDS.get(name, name.strip("_").upper())
                span = _words_span(words, node, text)
                raise SpannedError(f"{words} is not supported", span or span_of(node))
    for node in tree.find_all(exp.LimitOptions):
        for name, words in (("with_ties", "WITH TIES"), ("percent", "PERCENT")):
            if node.args.get(name):
                raise SpannedError(f"{words} is not supported", _words_span(words, tree, text))
    for node in tree.find_all(exp.Rollup, exp.Cube):
        if not node.expressions:
            words = f"WITH {type(node).__name__.upper()}"
            advice = f"write GROUP BY {type(node).__name__.upper()} (...)"
            raise SpannedError(
                f"{words} is not supported; {advice}", _words_span(words, tree, text)
            )


def _words_span(words: str, node: Any, text: str) -> Span | None:
    """Where words stand in the text, from the beginning of a node on."""
    within = span_of(node)
    pattern = r"\b" + words.replace(" ", r"\s+") + r"\b"
    found = re.compile(pattern, re.IGNORECASE).search(text, within[0] if within else 0)
    if found is None:
        found = re.search(pattern, text, re.IGNORECASE)
    return None if found is None else (found.start(), found.end() - 1)


_JOIN = re.compile(
    r"(?:(?:\b(?:NATURAL|LEFT|RIGHT|FULL|INNER|CROSS|OUTER|SEMI|ANTI|JOIN)\b\s*)+|,\s*)"
    r"(?:\b(?:LATERAL|TABLE|UNNEST|SELECT)\b[\s(]*)*$",
    re.IGNORECASE,
)


def join_span(join: Any, text: str) -> Span | None:
    """A join with the words in front of its table."""
    span = span_of(join)
    if span is None:
        return None
    words = _JOIN.search(text[: span[0]])
    return span if words is None else (words.start(), span[1])
