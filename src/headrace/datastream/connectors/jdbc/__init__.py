"""Tables of relational databases as sources and sinks: PostgreSQL, MySQL and MariaDB.

Drivers are Python packages: `pip install 'headrace[jdbc]'`. Databases are named by JDBC URLs, such
as `jdbc:postgresql://host:5432/shop`, and SQL has `?` in the place of values.
"""

from headrace.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from headrace.datastream.connectors.jdbc.sink import JdbcSink
from headrace.datastream.connectors.jdbc.source import JdbcSource
from headrace.datastream.connectors.jdbc.statements import upsert_statement

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExactlyOnceOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JdbcSource",
    "upsert_statement",
]
