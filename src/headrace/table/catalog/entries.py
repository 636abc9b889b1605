"""What is behind the objects of a catalog."""

from __future__ import annotations

from typing import Any


def entry_of(described: Any) -> Any:
    """The entry that an object shows; for whoever builds upon it here, not for programs."""
    return described._entry
