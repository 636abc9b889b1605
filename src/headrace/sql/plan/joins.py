"""Nodes that look rows up in another relation: what subqueries become."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.plan.nodes import TwoInputs

__all__ = ["ScalarJoin", "SemiJoin"]


@dataclass(frozen=True, eq=False)
class SemiJoin(TwoInputs):
    """Rows of the left side that the right side has the key of; with `anti` those it has not.

    With `null_aware` it is NOT IN: nothing is known to be missing where the right side has a NULL,
    and a NULL on the left is missing only from nothing.
    """

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    anti: bool = False
    null_aware: bool = False


@dataclass(frozen=True, eq=False)
class ScalarJoin(TwoInputs):
    """Each row of the left side with the only value of the right one, NULL if it has no row."""
