"""Changes of database tables as streams: the rows that are there, and then the database's log.

For PostgreSQL, `pip install 'headrace[jdbc]'`; for MySQL and MariaDB, `'headrace[mysql-cdc]'`.
"""

from headrace.datastream.connectors.cdc.changes import Change, ChangeRecord
from headrace.datastream.connectors.cdc.mysql_source import MySqlSource, MySqlSourceBuilder
from headrace.datastream.connectors.cdc.postgres_source import PostgresSource, PostgresSourceBuilder
from headrace.datastream.connectors.cdc.source import StartupOptions

__all__ = [
    "Change",
    "ChangeRecord",
    "MySqlSource",
    "MySqlSourceBuilder",
    "PostgresSource",
    "PostgresSourceBuilder",
    "StartupOptions",
]
