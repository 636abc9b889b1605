"""How many examples a property gets that needs more or fewer of them than most."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["QUICK", "examples", "scaled"]

_USUAL = 50
"""What other properties have in `make test`."""


QUICK = settings.default.max_examples < _USUAL
"""Whether this is `make test-quick`."""


def scaled(usual: int) -> int:
    """So many in `make test`; fewer in `make test-quick`, many more in `make test-all`."""
    return max(2, usual * settings.default.max_examples // _USUAL)


def examples(usual: int, **others: Any) -> settings:
    """Settings of a property with so many examples in `make test`."""
    return settings(max_examples=scaled(usual), **others)
