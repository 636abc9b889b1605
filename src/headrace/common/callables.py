"""Python callables that settings name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from headrace.common.errors import ConfigurationError, FunctionTypeError

__all__ = ["find_callable"]


def find_callable(name: str) -> Callable[..., Any]:
    """Returns the Python callable that `module:name` or `module.name` stands for."""
    if not isinstance(name, str):
        raise FunctionTypeError(f"the name of a Python callable is needed, not {name!r}")
    module_name, separator, attribute = name.partition(":")
    if not separator:
        module_name, _, attribute = name.rpartition(".")
    found: Any = None
    if module_name and attribute:
        try:
            found = getattr(importlib.import_module(module_name), attribute, None)
        except ImportError:
            found = None
    if not callable(found):
        raise ConfigurationError(
            f"{name!r} is not an importable Python callable; write 'module:name' (Java classes "
            "cannot be used: there is no Java runtime behind state backends)",
            value=name,
        )
    result: Callable[..., Any] = found
    return result
