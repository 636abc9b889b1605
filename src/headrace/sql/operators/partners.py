"""Rows with partners that are found for each of them, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["with_partners"]

Row = tuple[Any, ...]


def with_partners(
    rows: Sequence[Row], pairs: list[Row], width: int | None, changelog: bool
) -> list[Row]:
    """The rows of a join.

    Args:
        rows: Those of the left side; those of a changelog end with their kind.
        pairs: Columns of a row and of a partner, then the number of the row.
        width: How many columns partners have, if rows without one stay; else None.
        changelog: Whether rows end with their kind.
    """
    if width is not None:
        there = {pair[-1] for pair in pairs}
        nulls = (None,) * width
        lonely = [
            (*(row[:-1] if changelog else row), *nulls, number)
            for number, row in enumerate(rows)
            if number not in there
        ]
        if lonely:
            pairs = sorted(pairs + lonely, key=lambda pair: pair[-1])
    if changelog:
        return [(*pair[:-1], rows[pair[-1]][-1]) for pair in pairs]
    return [pair[:-1] for pair in pairs]
