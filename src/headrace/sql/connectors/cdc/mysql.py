"""The mysql-cdc connector: the rows of MySQL and MariaDB tables, and their changes from then on."""

from __future__ import annotations

from headrace.datastream.connectors.cdc import MySqlSource, MySqlSourceBuilder, StartupOptions
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.cdc.options import cdc_table, common_options
from headrace.sql.connectors.cdc.rows import metadata_type
from headrace.sql.connectors.kafka.options import one_of, startup_at
from headrace.sql.types import DataType

__all__ = ["MySqlCdcFactory"]

_METADATA = ("table_name", "database_name", "op_ts", "row_kind")


class MySqlCdcFactory(TableFactory):
    """`'connector' = 'mysql-cdc'`."""

    name = "mysql-cdc"

    def metadata_type(self, key: str) -> DataType | None:
        return metadata_type(key)

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        return startup_at(millis)

    def create_source(self, context: TableContext) -> TableSource:
        """Reads tables, and then the log; or one of these alone."""
        builder = MySqlSource.builder()
        common_options(context, builder)
        database, table = context.required("database-name"), context.required("table-name")
        builder.table_list(rf"(?:{database})\.(?:{table})")
        server_id = context.option("server-id")
        if server_id is not None:
            builder.server_id(server_id)
        heartbeat = context.duration("heartbeat.interval")
        if heartbeat is not None:
            builder.heartbeat_interval(heartbeat.total_seconds())
        # Times in the log are moments, or have no zone.
        context.option("server-time-zone")
        builder.startup_options(self._startup(context))
        return cdc_table(context, builder, _METADATA)

    def _startup(self, context: TableContext) -> StartupOptions:
        mode = one_of(context, "scan.startup.mode", "initial", MySqlSourceBuilder.modes)
        if mode == "timestamp":
            context.required("scan.startup.timestamp-millis")
            millis = context.integer("scan.startup.timestamp-millis", 0) or 0
            return StartupOptions.timestamp(millis)
        if mode == "specific-offset":
            file = context.required("scan.startup.specific-offset.file")
            context.required("scan.startup.specific-offset.pos")
            position = context.integer("scan.startup.specific-offset.pos", 4) or 4
            return StartupOptions.specific_offset(file, position)
        return StartupOptions(mode)
