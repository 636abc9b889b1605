"""The release: the one place that says it, below everything that shows or writes it."""

from __future__ import annotations

__version__ = "0.1.0"
