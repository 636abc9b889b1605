"""Tables and SQL, with PyFlink's names.

`TableEnvironment` runs statements and makes tables, `Table` is a relation, `DataTypes` names types,
`EnvironmentSettings` chooses streaming or batch mode.
"""

from __future__ import annotations

from headrace.common.types import Row, RowKind
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.result_kind import ResultKind
from headrace.table.sql_dialect import SqlDialect
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_environment import StreamTableEnvironment, TableEnvironment
from headrace.table.table_result import TableResult
from headrace.table.types import DataTypes, UserDefinedType

__all__ = [
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "ResultKind",
    "Row",
    "RowKind",
    "SqlDialect",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableEnvironment",
    "TableResult",
    "UserDefinedType",
]
