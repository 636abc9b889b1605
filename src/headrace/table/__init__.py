"""Tables and SQL, with PyFlink's names.

`TableEnvironment` runs statements and makes tables, `StreamTableEnvironment` joins them with
streams, `Table` is a relation, `expressions` writes columns and values, `DataTypes` names types,
`udf` makes functions, `EnvironmentSettings` chooses streaming or batch mode.
"""

from __future__ import annotations

from headrace.common.types import Row, RowKind
from headrace.sql.lookups.python_source import LookupTableSource
from headrace.sql.lookups.search import VectorSearchTableSource
from headrace.sql.models.predict_function import ModelFunctionContext, PredictFunction
from headrace.sql.udf.process.context import Context, OnTimerContext, TableSemantics, TimeContext
from headrace.sql.udf.process.function import ProcessTableFunction
from headrace.sql.udf.process.hints import ArgumentHint, ArgumentTrait, StateHint
from headrace.table.changelog_mode import ChangelogMode
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.data_view import DataView, ListView, MapView
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.model import Model
from headrace.table.model_descriptor import ModelDescriptor
from headrace.table.module import Module, ModuleEntry
from headrace.table.partitioned_table import PartitionedTable
from headrace.table.plan_reference import PlanReference
from headrace.table.result_kind import ResultKind
from headrace.table.schema import Schema
from headrace.table.sql_dialect import SqlDialect
from headrace.table.statement_set import StatementSet
from headrace.table.table import (
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    Table,
    WindowGroupedTable,
)
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import FormatDescriptor, TableDescriptor
from headrace.table.table_environment import StreamTableEnvironment, TableEnvironment
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_result import TableResult
from headrace.table.table_schema import TableSchema
from headrace.table.types import DataTypes, UserDefinedType
from headrace.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "AggregateFunction",
    "ArgumentHint",
    "ArgumentTrait",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "Context",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "LookupTableSource",
    "MapView",
    "Model",
    "ModelDescriptor",
    "ModelFunctionContext",
    "Module",
    "ModuleEntry",
    "OnTimerContext",
    "OverWindowedTable",
    "PartitionedTable",
    "PlanReference",
    "PredictFunction",
    "ProcessTableFunction",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StateHint",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "TableSemantics",
    "TimeContext",
    "UserDefinedType",
    "VectorSearchTableSource",
    "WindowGroupedTable",
]
