"""The postgres-cdc connector: the rows of PostgreSQL tables, and their changes from then on."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.datastream.connectors.cdc import (
    PostgresSource,
    PostgresSourceBuilder,
    StartupOptions,
)
from headrace.datastream.connectors.cdc.postgres_settings import DEFAULT_PUBLICATION
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.cdc.options import cdc_table, common_options
from headrace.sql.connectors.cdc.rows import metadata_type
from headrace.sql.connectors.kafka.options import one_of, startup_at
from headrace.sql.types import DataType

__all__ = ["PostgresCdcFactory"]

_METADATA = ("table_name", "schema_name", "database_name", "op_ts", "row_kind")


class PostgresCdcFactory(TableFactory):
    """`'connector' = 'postgres-cdc'`."""

    name = "postgres-cdc"

    def metadata_type(self, key: str) -> DataType | None:
        return metadata_type(key)

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        return startup_at(None) if millis is None else None

    def create_source(self, context: TableContext) -> TableSource:
        """Reads tables, and then the log; or one of these alone."""
        mode = one_of(context, "scan.startup.mode", "initial", PostgresSourceBuilder.modes)
        builder = PostgresSource.builder().startup_options(StartupOptions(mode))
        common_options(context, builder)
        schema, table = context.required("schema-name"), context.required("table-name")
        builder.database(context.required("database-name"))
        builder.table_list(rf"(?:{schema})\.(?:{table})")
        for name, value in context.with_prefix("jdbc.properties.").items():
            builder.connection_property(name, value)
        slot = context.option("slot.name") if mode == "snapshot" else context.required("slot.name")
        if slot is not None:
            builder.slot_name(slot)
        name = context.option("debezium.publication.name") or DEFAULT_PUBLICATION
        creating = ("filtered", "disabled")
        create = one_of(context, "debezium.publication.autocreate.mode", "filtered", creating)
        builder.publication_name(name, create=create == "filtered")
        builder.decoding_plugin_name(context.option("decoding.plugin.name") or "pgoutput")
        heartbeat = context.duration("heartbeat.interval.ms")
        if heartbeat is not None:
            builder.heartbeat_interval(heartbeat.total_seconds())
        context.option("scan.lsn-commit.checkpoints-num-delay")
        if one_of(context, "changelog-mode", "all", ("all", "upsert")) == "upsert":
            raise SqlError(
                f"table {context.name} reads the row before a change, too: 'changelog-mode' is "
                "'all', and the tables have REPLICA IDENTITY FULL"
            )
        return cdc_table(context, builder, _METADATA)
