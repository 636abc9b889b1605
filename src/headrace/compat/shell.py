"""`pyflink.shell`: the names that PyFlink's prompt begins with.

`s_env` is a stream execution environment, and `st_env` the table environment on top of it.
`headrace shell` is a prompt with them.
"""

from __future__ import annotations

from headrace import common, datastream, metrics, table
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table import catalog, expressions, window
from headrace.table.table_environment import StreamTableEnvironment

for _module in (common, datastream, metrics, catalog, window, expressions, table):
    globals().update({name: getattr(_module, name) for name in _module.__all__})

s_env = StreamExecutionEnvironment.get_execution_environment()
st_env = StreamTableEnvironment.create(s_env)
