"""The publication and the replication slot that a source of changes reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable
from headrace.datastream.connectors.cdc.pgoutput import lsn_text
from headrace.datastream.connectors.cdc.postgres_settings import PostgresSettings, parsed_lsn

__all__ = ["check_slot", "missing_tables", "prepare_publication", "prepare_slot"]

_SLOT = """
    SELECT plugin, database, confirmed_flush_lsn::text, coalesce(wal_status, '') = 'lost'
    FROM pg_replication_slots WHERE slot_name = %s
"""


def missing_tables(
    connection: Any, publication: str, tables: Sequence[CapturedTable]
) -> list[CapturedTable]:
    """Tables whose changes a publication does not have."""
    sql = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
    published = set(connection.execute(sql, [publication]).fetchall())
    return [t for t in tables if (t.schema, t.name) not in published]


def prepare_publication(
    connection: Any, settings: PostgresSettings, tables: Sequence[CapturedTable]
) -> None:
    """Make the publication, or add tables to it, if it is not there or has not all of them."""
    import psycopg
    from psycopg import sql

    missing = missing_tables(connection, settings.publication, tables)
    if not missing:
        return
    there = connection.execute(
        "SELECT 1 FROM pg_publication WHERE pubname = %s", [settings.publication]
    ).fetchone()
    names = sql.SQL(", ").join(sql.Identifier(t.schema, t.name) for t in missing)
    form = "ALTER PUBLICATION {} ADD TABLE {}" if there else "CREATE PUBLICATION {} FOR TABLE {}"
    command = sql.SQL(form).format(sql.Identifier(settings.publication), names)
    advice = f"as the owner of the tables, run: {command.as_string(connection)};"
    if not settings.create_publication:
        raise HeadraceError(
            f"{settings.url}: publication {settings.publication!r} does not have "
            f"{', '.join(map(str, missing))}, and the source must not change it; {advice}"
        )
    try:
        connection.execute(command)
    except psycopg.errors.InsufficientPrivilege as error:
        raise HeadraceError(
            f"{settings.url}: user {settings.user_name!r} cannot make the publication of its "
            f"tables: {_one_line(error)}; {advice}"
        ) from error


def prepare_slot(connection: Any, settings: PostgresSettings) -> int:
    """Make the slot if it is not there; where its log is to be read from."""
    import psycopg

    (level,) = connection.execute("SHOW wal_level").fetchone()
    if level != "logical":
        raise HeadraceError(
            f"{settings.url}: the server has wal_level = {level}, so its log does not have the "
            "changes of rows: set wal_level = logical in postgresql.conf and restart the server"
        )
    found = connection.execute(_SLOT, [settings.slot]).fetchone()
    if found is None and settings.startup.mode == "committed-offset":
        raise HeadraceError(
            f"{settings.url}: 'committed-offset' goes on with replication slot "
            f"{settings.slot!r}, which does not exist; start with 'initial', or run: "
            f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput');"
        )
    if found is None:
        try:
            connection.execute(
                "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [settings.slot]
            )
        except psycopg.errors.InsufficientPrivilege as error:
            raise HeadraceError(_no_privilege(settings, error)) from error
        except psycopg.errors.ConfigurationLimitExceeded as error:
            raise HeadraceError(
                f"{settings.url}: {_one_line(error)}: drop a slot that nobody reads "
                "(SELECT pg_drop_replication_slot(...)), or raise max_replication_slots"
            ) from error
    lsn = check_slot(connection, settings)
    if settings.startup.mode == "latest-offset":
        (now,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        return parsed_lsn(now)
    return lsn


def check_slot(connection: Any, settings: PostgresSettings, needed_lsn: int | None = None) -> int:
    """See whether a slot has the log from a place on; the first place that it has."""
    found = connection.execute(_SLOT, [settings.slot]).fetchone()
    again = "start the job without its state, to read the tables anew"
    if found is None:
        raise HeadraceError(
            f"{settings.url}: replication slot {settings.slot!r} does not exist any more, so "
            f"changes since the last checkpoint are lost: {again}"
        )
    plugin, database, confirmed, lost = found
    if plugin != "pgoutput" or database != settings.url.database:
        raise HeadraceError(
            f"{settings.url}: replication slot {settings.slot!r} is one of plugin {plugin!r} in "
            f"database {database!r}; choose another 'slot.name'"
        )
    lsn = parsed_lsn(confirmed)
    if lost or (needed_lsn is not None and lsn > needed_lsn):
        kept = "nothing" if lost else f"the log from {lsn_text(lsn)} on"
        raise HeadraceError(
            f"{settings.url}: replication slot {settings.slot!r} has {kept}, but the checkpoint "
            f"goes on at {lsn_text(needed_lsn or 0)}: changes are lost; take a newer checkpoint, "
            f"or {again}"
        )
    return lsn


def _no_privilege(settings: PostgresSettings, error: Exception) -> str:
    return (
        f"{settings.url}: user {settings.user_name!r} must not read the log: {_one_line(error)}. "
        f'As a superuser, run: ALTER ROLE "{settings.user_name}" REPLICATION;'
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
