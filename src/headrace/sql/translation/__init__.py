"""From relational nodes to operators on streams of rows.

A stream carries plain tuples. Rows of a changelog end with their kind; a plan knows beforehand
which streams are changelogs, so a stream of inserts costs nothing extra.
"""

from __future__ import annotations

from headrace.sql.translation.aggregate_nodes import AggregateNodes
from headrace.sql.translation.join_nodes import JoinNodes
from headrace.sql.translation.ordered_nodes import OrderedNodes
from headrace.sql.translation.row_nodes import RowNodes
from headrace.sql.translation.settings import TranslationSettings

__all__ = ["StreamTranslator", "TranslationSettings"]


class StreamTranslator(RowNodes, AggregateNodes, OrderedNodes, JoinNodes):
    """Translates every kind of node."""
