"""Changes of database tables as streams: the rows that are there, and then the database's log.

It needs the drivers of databases: `pip install 'headrace[jdbc]'`.
"""

from headrace.datastream.connectors.cdc.changes import Change, ChangeRecord
from headrace.datastream.connectors.cdc.postgres_source import PostgresSource, PostgresSourceBuilder
from headrace.datastream.connectors.cdc.source import StartupOptions

__all__ = [
    "Change",
    "ChangeRecord",
    "PostgresSource",
    "PostgresSourceBuilder",
    "StartupOptions",
]
