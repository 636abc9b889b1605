"""Gives names and types to what was read: syntax in, relational nodes and expressions out."""

from __future__ import annotations

from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.queries import QueryBinder

__all__ = ["BindingContext", "QueryBinder"]
