"""The functions that SQL and the Table API know; see `registry` for how one is declared."""

from __future__ import annotations

from headrace.sql.functions.registry import Function, FunctionKind, Registry, builtin_registry

__all__ = ["Function", "FunctionKind", "Registry", "builtin_registry"]
