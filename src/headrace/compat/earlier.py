"""What PyFlink had before 2.3, and what to write instead.

PyFlink 2.3 refuses it as well, but only says that the name is not there. Most programs that people
find are older, so the alias says what has taken its place.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["GONE_MODULES", "gone_name", "install", "uninstall"]

_GetAttr = Callable[[object, str], Any]

_BATCH = (
    "make the environment with TableEnvironment.create(EnvironmentSettings.in_batch_mode()), "
    "or for streams call env.set_runtime_mode(RuntimeExecutionMode.BATCH)"
)
_DDL = (
    "declare the table with execute_sql(\"CREATE TABLE ... WITH ('connector' = ...)\"), or with "
    "create_temporary_table(path, TableDescriptor.for_connector(...))"
)
_ONE_PLANNER = "there is one planner, so leave the call out"
_NO_EFFECT = "leave the call out, nothing depends on it"
_KRYO = "leave the call out: Python's values are pickled, and types are declared with Types"
_RETENTION = "set_idle_state_retention(duration) and get_idle_state_retention()"

GONE_MODULES: Mapping[str, str] = {
    "pyflink.dataset": f"was the DataSet API, which PyFlink has no more: {_BATCH}",
    "pyflink.ml": "is Flink ML, which runs in Java: use a library of Python, with a model that a "
    "function loads in open()",
    "pyflink.table.sinks": f"had TableSinks, which PyFlink has no more: {_DDL}",
    "pyflink.table.sources": f"had TableSources, which PyFlink has no more: {_DDL}",
}
"""Modules by name, with what to say of them."""

_DESCRIPTORS = (
    "Avro",
    "BatchTableDescriptor",
    "ConnectTableDescriptor",
    "ConnectorDescriptor",
    "Csv",
    "CustomConnectorDescriptor",
    "CustomFormatDescriptor",
    "Elasticsearch",
    "FileSystem",
    "HBase",
    "Json",
    "Kafka",
    "OldCsv",
    "StreamTableDescriptor",
)

_GONE_NAMES: Mapping[tuple[str, str], str] = {
    ("table", "BatchTableEnvironment"): _BATCH,
    **{
        ("table", name): _DDL
        for name in ("CsvTableSink", "CsvTableSource", "TableSink", "TableSource", "WriteMode")
    },
    **{("table.descriptors", name): _DDL for name in _DESCRIPTORS},
}

_GONE_METHODS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("table.environment_settings", "EnvironmentSettings.Builder"): {
        "use_any_planner": _ONE_PLANNER,
        "use_blink_planner": _ONE_PLANNER,
        "use_old_planner": _ONE_PLANNER,
    },
    ("table.environment_settings", "EnvironmentSettings"): {
        "from_configuration": "call new_instance().with_configuration(configuration).build()",
        "is_blink_planner": _ONE_PLANNER,
        "to_configuration": "call get_configuration()",
    },
    ("table.table_config", "TableConfig"): {
        "get_decimal_context": _NO_EFFECT,
        "get_max_idle_state_retention_time": _RETENTION,
        "get_min_idle_state_retention_time": _RETENTION,
        "get_null_check": _NO_EFFECT,
        "set_decimal_context": _NO_EFFECT,
        "set_idle_state_retention_time": _RETENTION,
        "set_null_check": _NO_EFFECT,
    },
    ("table.table_environment", "TableEnvironment"): {
        "connect": _DDL,
        "execute": "the result of execute_sql(), execute_insert() or a StatementSet has wait()",
        "explain": "call table.explain() or explain_sql(statement)",
        "from_table_source": _DDL,
        "insert_into": "call table.execute_insert(path), and wait() for its result",
        "register_function": "call create_temporary_system_function(name, function)",
        "register_java_function": "write the function in Python",
        "register_table": "call create_temporary_view(name, table)",
        "register_table_sink": _DDL,
        "register_table_source": _DDL,
        "scan": "call from_path(path)",
        "sql_update": "call execute_sql(statement)",
    },
    ("common.execution_config", "ExecutionConfig"): {
        "add_default_kryo_serializer": _KRYO,
        "disable_auto_type_registration": _KRYO,
        "disable_sysout_logging": _NO_EFFECT,
        "enable_sysout_logging": _NO_EFFECT,
        "register_kryo_type": _KRYO,
        "register_pojo_type": _KRYO,
        "register_type_with_kryo_serializer": _KRYO,
        "set_default_input_dependency_constraint": _NO_EFFECT,
        "set_execution_mode": _NO_EFFECT,
        "set_restart_strategy": "set restart-strategy.type in the configuration",
    },
    ("datastream.checkpoint_config", "CheckpointConfig"): {
        "enable_externalized_checkpoints": "call set_externalized_checkpoint_retention()",
        "set_prefer_checkpoint_for_recovery": _NO_EFFECT,
    },
    ("datastream.stream_execution_environment", "StreamExecutionEnvironment"): {
        "add_default_kryo_serializer": _KRYO,
        "get_state_backend": "read state.backend.type of get_configuration()",
        "get_stream_time_characteristic": "windows, timers and watermark strategies say which "
        "time they go by",
        "register_type": _KRYO,
        "register_type_with_kryo_serializer": _KRYO,
    },
}
"""Methods by the module of headrace and the class in it."""


def gone_name(module: str, name: str) -> str | None:
    """What to say of a name that a module of PyFlink no longer has."""
    instead = _GONE_NAMES.get((module, name))
    return None if instead is None else f"PyFlink has no {name} any more: {instead}"


def install() -> None:
    """Let classes say what to write for the methods that they no longer have."""
    for (module, name), methods in _GONE_METHODS.items():
        found: Any = _class_of(module, name)
        found.__getattr__ = _explaining(methods, vars(found).get("__getattr__"))


def uninstall() -> None:
    """Take that away again."""
    for module, name in _GONE_METHODS:
        found: Any = _class_of(module, name)
        explaining = vars(found).get("__getattr__")
        if not hasattr(explaining, "former"):
            return  # It was not installed.
        if explaining.former is None:
            del found.__getattr__
        else:
            found.__getattr__ = explaining.former


def _explaining(methods: Mapping[str, str], former: _GetAttr | None) -> _GetAttr:
    """A `__getattr__` that knows the methods, where the class's own, if any, knows nothing."""

    def find(self: object, name: str) -> Any:
        try:
            if former is not None:
                return former(self, name)
        except AttributeError:
            if name not in methods:
                raise
        kind = type(self).__name__
        if name in methods:
            raise AttributeError(f"{kind} has no {name}() any more: {methods[name]}") from None
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)

    vars(find)["former"] = former
    return find


def _class_of(module: str, name: str) -> type:
    found: Any = importlib.import_module(f"headrace.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    assert isinstance(found, type)
    return found
