"""All classes of connectors that headrace has."""

from __future__ import annotations

import importlib
import pkgutil

import headrace

__all__ = ["connector_classes"]


def connector_classes(base: type) -> list[type]:
    """All subclasses of `Source` or `Sink`."""
    for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
        if ".connectors" in module.name or ".table_api" in module.name:
            importlib.import_module(module.name)
    found: list[type] = []
    new = [base]
    while new:
        new = [kind for one in new for kind in one.__subclasses__()]
        found += new
    return [kind for kind in found if kind.__module__.startswith("headrace.")]
