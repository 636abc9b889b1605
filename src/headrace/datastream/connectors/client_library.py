"""The Python packages behind connectors: each is an extra, imported where it is used."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.common.errors import ConfigurationError

__all__ = ["client_library"]


def client_library(module: str, package: str, extra: str) -> Any:
    """A module of an optional package.

    Raises:
        ConfigurationError: It is not installed; the message says how to.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"this connector needs the package {package}: pip install 'headrace[{extra}]'"
        ) from error
