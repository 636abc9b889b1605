"""Nodes that look rows up in another relation: what subqueries become."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.plan.nodes import _TwoInputs

__all__ = ["ScalarJoin", "SemiJoin"]


@dataclass(frozen=True)
class SemiJoin(_TwoInputs):
    """Rows of the left side that the right side has the key of; with `anti` those it has not.

    With `null_aware` it is NOT IN: nothing is known to be missing where the right side has a NULL,
    and a NULL on the left is missing only from nothing.
    """

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    anti: bool = False
    null_aware: bool = False


@dataclass(frozen=True)
class ScalarJoin(_TwoInputs):
    """Each row of the left side with the only value of the right one, NULL if it has no row."""
