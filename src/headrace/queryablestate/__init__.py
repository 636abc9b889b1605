"""Reads keyed state of a running job from outside: `QueryableStateClient`."""

from headrace.queryablestate.client import QueryableStateClient

__all__ = ["QueryableStateClient"]
