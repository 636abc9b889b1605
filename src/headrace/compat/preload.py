"""Installs the alias on import; slots of a PyFlink program import this first."""

from __future__ import annotations

from headrace.compat.alias import add_finder

add_finder()
