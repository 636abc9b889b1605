"""`ExplainDetail`: what else EXPLAIN is to show."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Details of a plan."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


_NAMES = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


def detail_names(details: Sequence[int]) -> list[str]:
    """Names of details."""
    return [_NAMES[d] for d in details]
