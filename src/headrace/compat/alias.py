"""The import alias: a finder that answers for `pyflink` with the modules of `headrace`.

The very same module objects are used, so a class is one class under both names, `isinstance` works,
and what is pickled names headrace: a slot can load it whether the alias is there or not.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypeVar

from headrace.common import options
from headrace.common.errors import HeadraceError
from headrace.common.settings import table_options
from headrace.compat import earlier
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

ALIAS = "pyflink"
_TARGET = "headrace"
_PRELOAD = "headrace.compat.preload"
_PYFLINK_VERSION = "2.3.0"

_JAVA = (
    "talks to Flink's Java side, which headrace does not have: remove the import and what needs it"
)
_REFUSED = {
    "pyflink.java_gateway": _JAVA,
    "pyflink.pyflink_gateway_server": _JAVA,
    "pyflink.pyflink_callback_server": _JAVA,
    "pyflink.gen_protos": _JAVA,
    "pyflink.proto": _JAVA,
    "pyflink.fn_execution": "is PyFlink's internal runtime; headrace has its own",
    "pyflink.util.java_utils": "talks to Flink's Java side, which headrace does not have: set "
    "options with env.configure(configuration), or t_env.get_config().set(key, value)",
    "pyflink.find_flink_home": "looks for Flink's jars, and headrace has none",
}
"""Modules that will never be there, and why."""

_FLINK_DEFAULTS = {table_options.MINI_BATCH_ENABLED.key: "false"}
"""Where headrace has another default than Flink, and a program would notice.

A changelog with every single change of a result is what a PyFlink program prints, collects and
converts to a stream; one that merges the changes of an epoch would have fewer rows.
"""

_ELSEWHERE = {"shell": "compat.shell"}
"""Modules of PyFlink that have another place in headrace."""

_HOMES = {
    "common": (
        "datastream.formats.json",
        "datastream.formats.csv",
        "datastream.formats.avro",
    ),
    "datastream": (
        "datastream",
        "datastream.connectors",
        "datastream.functions",
        "datastream.state",
        "datastream.window",
        "common",
        "common.typeinfo",
        "metrics",
        "datastream.connectors.file_system",
        "datastream.connectors.kafka",
        "datastream.connectors.dynamic_kafka",
        "datastream.connectors.jdbc",
        "datastream.connectors.number_seq",
        "datastream.connectors.pulsar",
        "datastream.connectors.rabbitmq",
    ),
    "table": (
        "table",
        "table.types",
        "table.udf",
        "table.expressions",
        "table.catalog",
        "common",
        "metrics",
    ),
}
"""Where the public names are that modules of a PyFlink package use themselves.

PyFlink's modules import them, and programs, PyFlink's own examples among them, then take them from
there: `from pyflink.datastream.connectors.kafka import DeliveryGuarantee`. Its packages also keep
names that have moved on: `from pyflink.datastream.connectors import FileSink`.
"""

_TYPE_VARIABLES = {
    name: TypeVar(name)
    for name in ("ACC", "IN", "IN1", "IN2", "K", "KEY", "OUT", "T", "V", "W", "W2")
}
"""Type variables that modules of PyFlink have; editors import them into programs."""

_OWN = frozenset({"cluster", "compat", "coordination", "graph", "runtime", "spark", "sql"})
"""Packages of headrace that are not part of PyFlink's layout."""


def install() -> None:
    """Let `import pyflink` find headrace, here and in the slots of jobs started from now on.

    A real PyFlink that is installed is hidden as long as the alias is there.
    """
    if is_installed():
        return
    add_finder()
    _set_preload([*_preloaded(), _PRELOAD])
    StreamExecutionEnvironment.defaults.update(_FLINK_DEFAULTS)
    _java_errors().install()
    earlier.install()


def add_finder() -> None:
    """Let `import pyflink` find headrace; this is all that a slot needs."""
    if is_installed():
        return
    if ALIAS in sys.modules:
        raise HeadraceError(
            "pyflink itself has already been imported in this process; call "
            "headrace.compat.install() before the first import of pyflink"
        )
    sys.meta_path.insert(0, _Finder())


def _java_errors() -> ModuleType:
    # Late, because slots do without py4j.
    return importlib.import_module("headrace.compat.java_errors")


def uninstall() -> None:
    """Take the alias away again; modules that were imported through it stay usable."""
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
    for name in [n for n in sys.modules if n == ALIAS or n.startswith(ALIAS + ".")]:
        vars(sys.modules.pop(name)).pop("__getattr__", None)
    _set_preload([m for m in _preloaded() if m != _PRELOAD])
    for key in _FLINK_DEFAULTS:
        StreamExecutionEnvironment.defaults.pop(key, None)
    _java_errors().uninstall()
    earlier.uninstall()


def is_installed() -> bool:
    """Whether `import pyflink` finds headrace."""
    return any(isinstance(f, _Finder) for f in sys.meta_path)


def _preloaded() -> list[str]:
    found: list[str] = StreamExecutionEnvironment.command_line.get(options.PYTHON_PRELOAD.key, [])
    return list(found)


def _set_preload(modules: list[str]) -> None:
    settings = StreamExecutionEnvironment.command_line
    settings.pop(options.PYTHON_PRELOAD.key, None)
    if modules:
        settings[options.PYTHON_PRELOAD.key] = modules


class _Finder(MetaPathFinder):
    """Answers for `pyflink` and everything in it, first of all finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != ALIAS and not fullname.startswith(ALIAS + "."):
            return None
        _check_not_refused(fullname)
        if fullname == f"{ALIAS}.version":
            return ModuleSpec(fullname, _VersionLoader())
        module = _module_for(fullname)
        return ModuleSpec(fullname, _AliasLoader(module), is_package=hasattr(module, "__path__"))


class _AliasLoader(Loader):
    """Hands out a module that is loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the alias's spec on it, but it keeps its own name and place.
        module.__spec__ = self._spec
        _, *places = module.__name__.split(".")
        if places and places[0] in _HOMES:
            vars(module)["__getattr__"] = _Borrowed(module.__name__, _HOMES[places[0]])


class _Borrowed:
    """`__getattr__` of a module: the names that it does not have, and others of its package do."""

    def __init__(self, module: str, homes: Sequence[str]) -> None:
        self._module = module
        self._homes = homes

    def __call__(self, name: str) -> object:
        _, _, inside = self._module.partition(".")
        gone = earlier.gone_name(inside, name)
        if gone is not None:
            # No AttributeError, which `from ... import` would replace by words of its own.
            raise ImportError(gone, name=self._module)
        for home in self._homes:
            module = importlib.import_module(f"{_TARGET}.{home}")
            if module.__name__ != self._module and name in module.__all__:
                return getattr(module, name)
        if name in _TYPE_VARIABLES:
            return _TYPE_VARIABLES[name]
        raise AttributeError(f"module {self._module!r} has no attribute {name!r}")


class _VersionLoader(Loader):
    """`pyflink.version`, for programs that look at it: the version whose API headrace follows."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__version__"] = _PYFLINK_VERSION


def _check_not_refused(name: str) -> None:
    for refused, reason in {**_REFUSED, **earlier.GONE_MODULES}.items():
        if name == refused or name.startswith(refused + "."):
            raise ModuleNotFoundError(f"{name} {reason}", name=name)


def _module_for(name: str) -> ModuleType:
    inside = name.removeprefix(ALIAS).removeprefix(".")
    place = _ELSEWHERE.get(inside, inside)
    target = f"{_TARGET}.{place}" if place else _TARGET
    if inside.split(".")[0] not in _OWN:
        try:
            return importlib.import_module(target)
        except ModuleNotFoundError as error:
            # Only if it is this module, or the package it is in, and not something that it imports.
            missing = error.name or ""
            if missing != target and not target.startswith(missing + "."):
                raise
    raise ModuleNotFoundError(
        f"headrace does not have {name} yet; docs/coverage.md lists what it has of PyFlink",
        name=name,
    )
