"""What depends on how long the tests may take, above all how many examples a property gets."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["ALL", "QUICK", "examples", "scaled"]

_USUAL = 50
"""What other properties have in `make test`."""


QUICK = settings.default.max_examples < _USUAL
"""Whether this is `make test-quick`."""

ALL = settings.default.max_examples > _USUAL
"""Whether this is `make test-all`, where each way of killing goes with each way of running."""


def scaled(usual: int) -> int:
    """So many in `make test`; fewer in `make test-quick`, many more in `make test-all`."""
    return max(2, usual * settings.default.max_examples // _USUAL)


def examples(usual: int, **others: Any) -> settings:
    """Settings of a property with so many examples in `make test`."""
    return settings(max_examples=scaled(usual), **others)
