"""The publication and the replication slot that a source of changes reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.changes import CapturedTable
from headrace.datastream.connectors.cdc.pgoutput import lsn_text
from headrace.datastream.connectors.cdc.postgres_settings import PostgresSettings, parsed_lsn

__all__ = [
    "SLOT_PAUSE_S",
    "check_publication",
    "check_slot",
    "check_wal_level",
    "drop_slot",
    "first_lsn",
    "missing_tables",
    "prepare_publication",
    "prepare_slot",
    "slot_in_use",
]

SLOT_PAUSE_S = 0.25
"""How long to wait before a slot that somebody else reads is tried again."""

_SLOT = """
    SELECT plugin, database, confirmed_flush_lsn::text, coalesce(wal_status, '') = 'lost',
        active_pid
    FROM pg_replication_slots WHERE slot_name = %s
"""
# Services give the right by a role, such as rds_replication.
_MAY_REPLICATE = """
    SELECT bool_or(rolsuper OR rolreplication OR rolname <> current_user)
    FROM pg_roles WHERE pg_has_role(oid, 'MEMBER') AND
        (rolname = current_user OR position('replication' IN rolname) > 0)
"""
# Row filters are unknown to PostgreSQL before 15.
_PUBLISHED = """
    SELECT t.schemaname, t.tablename, p.pubinsert AND p.pubupdate AND p.pubdelete,
        to_jsonb(t) ->> 'rowfilter'
    FROM pg_publication_tables t JOIN pg_publication p USING (pubname) WHERE pubname = %s
"""


def check_wal_level(connection: Any, settings: PostgresSettings) -> None:
    """See whether the log has the changes of rows."""
    (level,) = connection.execute("SHOW wal_level").fetchone()
    if level != "logical":
        raise HeadraceError(
            f"{settings.url}: the server has wal_level = {level}, so its log does not have the "
            "changes of rows: set wal_level = logical in postgresql.conf and restart the server"
        )


# The publication.


def missing_tables(
    connection: Any, publication: str, tables: Sequence[CapturedTable]
) -> list[CapturedTable]:
    """Tables whose changes a publication does not have."""
    found = connection.execute(_PUBLISHED, [publication]).fetchall()
    published = {(schema, name) for schema, name, *_ in found}
    return [t for t in tables if (t.schema, t.name) not in published]


def prepare_publication(
    connection: Any, settings: PostgresSettings, tables: Sequence[CapturedTable]
) -> None:
    """Make the publication, or add tables to it, if it is not there or has not all of them."""
    missing = missing_tables(connection, settings.publication, tables)
    if missing:
        _publish(connection, settings, missing)
    check_publication(connection, settings, tables)


def _publish(connection: Any, settings: PostgresSettings, missing: Sequence[CapturedTable]) -> None:
    import psycopg

    command, lacks = _publishing(connection, settings, missing)
    advice = f"as the owner of the tables, run: {command.as_string(connection)};"
    if not settings.create_publication:
        raise HeadraceError(f"{lacks}, and the source must not change it; {advice}")
    if settings.startup.mode != "initial" and _find(connection, settings) is not None:
        raise HeadraceError(
            f"{lacks}, so replication slot {settings.slot!r} has kept no change of them: run "
            f"{_drop_command(settings)} and {advice}"
        )
    try:
        connection.execute(command)
    except psycopg.errors.InsufficientPrivilege as error:
        raise HeadraceError(
            f"{settings.url}: user {settings.user_name!r} cannot make the publication of its "
            f"tables: {_one_line(error)}; {advice}"
        ) from error


def _publishing(
    connection: Any, settings: PostgresSettings, missing: Sequence[CapturedTable]
) -> tuple[Any, str]:
    """The command that publishes tables, and what is wrong without it."""
    from psycopg import sql

    there = connection.execute(
        "SELECT 1 FROM pg_publication WHERE pubname = %s", [settings.publication]
    ).fetchone()
    names = sql.SQL(", ").join(_only(t) for t in missing)
    form = "ALTER PUBLICATION {} ADD TABLE {}" if there else "CREATE PUBLICATION {} FOR TABLE {}"
    command = sql.SQL(form).format(sql.Identifier(settings.publication), names)
    lacks = (
        f"{settings.url}: publication {settings.publication!r} does not have "
        f"{', '.join(map(str, missing))}"
    )
    return command, lacks


def check_publication(
    connection: Any, settings: PostgresSettings, tables: Sequence[CapturedTable]
) -> None:
    """See whether a publication has all changes of its tables."""
    from psycopg import sql

    name = sql.Identifier(settings.publication)
    wanted = {(t.schema, t.name): t for t in tables}
    for schema, table, all_kinds, row_filter in connection.execute(
        _PUBLISHED, [settings.publication]
    ).fetchall():
        if (schema, table) not in wanted:
            continue
        if not all_kinds:
            form = sql.SQL("ALTER PUBLICATION {} SET (publish = 'insert, update, delete')")
            lacks, command = "some kinds of changes", form.format(name)
        elif row_filter is not None:
            form = sql.SQL(
                "ALTER PUBLICATION {0} DROP TABLE {1}; ALTER PUBLICATION {0} ADD TABLE {1}"
            )
            lacks, command = (
                f"rows without {row_filter}",
                form.format(name, _only(wanted[schema, table])),
            )
        else:
            continue
        raise HeadraceError(
            f"{settings.url}: publication {settings.publication!r} leaves out {lacks} of "
            f"{schema}.{table}; as its owner, run: {command.as_string(connection)}; and start "
            "the job without its state, to read the tables anew"
        )


def _only(table: CapturedTable) -> Any:
    """A table without those that inherit from it, which would be published as well."""
    from psycopg import sql

    return sql.SQL("ONLY {}").format(sql.Identifier(table.schema, table.name))


def probe_publication(
    connection: Any, settings: PostgresSettings, tables: Sequence[CapturedTable]
) -> None:
    """See whether the publication is there, or could be made; changes nothing."""
    missing = missing_tables(connection, settings.publication, tables)
    if missing:
        owns = (
            "SELECT bool_and(pg_has_role(relowner, 'USAGE')) AND "
            "has_database_privilege(current_database(), 'CREATE') "
            "FROM pg_class WHERE oid = ANY(%s::oid[])"
        )
        (may,) = connection.execute(owns, [[t.number for t in missing]]).fetchone()
        command, lacks = _publishing(connection, settings, missing)
        if not settings.create_publication or not may:
            raise HeadraceError(
                f"{lacks}, and user {settings.user_name!r} must not change that; as the owner of "
                f"the tables, run: {command.as_string(connection)};"
            )
    check_publication(connection, settings, tables)


# The slot.


def probe_slot(connection: Any, settings: PostgresSettings) -> None:
    """See whether the slot can be read, or could be made; changes nothing."""
    (may,) = connection.execute(_MAY_REPLICATE).fetchone()
    if not may:
        raise HeadraceError(_no_privilege(settings, "it does not have the attribute REPLICATION"))
    found = _find(connection, settings)
    if found is not None:
        _check_kind(settings, *found[:2])
        if found[-1] is not None:
            raise slot_in_use(settings, f"process {found[-1]} of the server")
    elif settings.startup.mode == "committed-offset":
        raise _no_slot(settings)


def prepare_slot(connection: Any, settings: PostgresSettings) -> bool:
    """Make the slot, if it is not there or is of no use; whether it was made.

    Rows are read anew in the mode `initial`, so a slot that is there is one of an earlier job, and
    was perhaps made before the publication: what it has kept must not be read.
    """
    import psycopg

    mode = settings.startup.mode
    found = _find(connection, settings)
    if found is None and mode == "committed-offset":
        raise _no_slot(settings)
    if found is not None:
        _check_kind(settings, *found[:2])
        if mode != "initial":
            return False
        drop_slot(connection, settings)
    try:
        connection.execute(
            "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [settings.slot]
        )
    except psycopg.errors.InsufficientPrivilege as error:
        raise HeadraceError(_no_privilege(settings, _one_line(error))) from error
    except psycopg.errors.ConfigurationLimitExceeded as error:
        raise HeadraceError(
            f"{settings.url}: {_one_line(error)}: drop a slot that nobody reads "
            "(SELECT pg_drop_replication_slot(...)), or raise max_replication_slots"
        ) from error
    return True


def drop_slot(connection: Any, settings: PostgresSettings) -> None:
    """Drop the slot, once nobody reads it any more."""
    import psycopg

    deadline = time.monotonic() + settings.wait_for_slot_s
    while True:
        try:
            connection.execute("SELECT pg_drop_replication_slot(%s)", [settings.slot])
            return
        except psycopg.errors.UndefinedObject:
            return
        except psycopg.errors.InsufficientPrivilege as error:
            raise HeadraceError(_no_privilege(settings, _one_line(error))) from error
        except psycopg.errors.ObjectInUse as error:
            # The server may not have noticed yet that the reader before us is gone.
            if time.monotonic() > deadline:
                raise slot_in_use(settings, _one_line(error)) from error
        # Waits in the server, so that a request to cancel ends it.
        connection.execute("SELECT pg_sleep(%s)", [SLOT_PAUSE_S])


def first_lsn(connection: Any, settings: PostgresSettings) -> int:
    """Where the log is to be read from."""
    lsn = check_slot(connection, settings)
    return _log_end(connection) if settings.startup.mode == "latest-offset" else lsn


def check_slot(connection: Any, settings: PostgresSettings, needed_lsn: int | None = None) -> int:
    """See whether a slot has the log from a place on; the first place that it has."""
    again = "start the job without its state, to read the tables anew"
    if settings.startup.mode != "initial":
        again = f"run {_drop_command(settings)} and start the job without its state"
    slot = f"{settings.url}: replication slot {settings.slot!r}"
    found = _find(connection, settings)
    if found is None:
        raise HeadraceError(
            f"{slot} does not exist any more, so changes since the last checkpoint are lost: "
            "start the job without its state, to read the tables anew"
        )
    plugin, database, confirmed, lost, _ = found
    _check_kind(settings, plugin, database)
    if confirmed is None:
        raise HeadraceError(
            f"{slot} is just being made by somebody else, who waits for the end of all open "
            "transactions; stop that job, or choose another 'slot.name'"
        )
    if lost:
        raise HeadraceError(
            f"{slot} has lost its log, which was larger than max_slot_wal_keep_size: {again}"
        )
    lsn = parsed_lsn(confirmed)
    if needed_lsn is not None and lsn > needed_lsn:
        raise HeadraceError(
            f"{slot} has the log from {lsn_text(lsn)} on, but the checkpoint goes on at "
            f"{lsn_text(needed_lsn)}: changes are lost; take a newer checkpoint, or {again}"
        )
    if needed_lsn is not None and needed_lsn > (end := _log_end(connection)):
        raise HeadraceError(
            f"{settings.url}: the log ends at {lsn_text(end)}, but the checkpoint goes on at "
            f"{lsn_text(needed_lsn)}: it is the log of another server, or of a backup; {again}"
        )
    return lsn


def slot_in_use(settings: PostgresSettings, text: str) -> HeadraceError:
    """Somebody else reads the slot, in the server's words."""
    return HeadraceError(
        f"{settings.url}: replication slot {settings.slot!r} is read by somebody else: {text}; "
        "stop that job, or choose another 'slot.name'"
    )


def _find(connection: Any, settings: PostgresSettings) -> Any:
    return connection.execute(_SLOT, [settings.slot]).fetchone()


def _check_kind(settings: PostgresSettings, plugin: str | None, database: str | None) -> None:
    if plugin != "pgoutput" or database != settings.url.database:
        raise HeadraceError(
            f"{settings.url}: replication slot {settings.slot!r} is one of plugin {plugin!r} in "
            f"database {database!r}; choose another 'slot.name'"
        )


def _log_end(connection: Any) -> int:
    (now,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
    return parsed_lsn(now)


def _drop_command(settings: PostgresSettings) -> str:
    return f"SELECT pg_drop_replication_slot('{settings.slot}');"


def _no_slot(settings: PostgresSettings) -> HeadraceError:
    return HeadraceError(
        f"{settings.url}: 'committed-offset' goes on with replication slot "
        f"{settings.slot!r}, which does not exist; start with 'initial', or run: "
        f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput');"
    )


def _no_privilege(settings: PostgresSettings, text: str) -> str:
    return (
        f"{settings.url}: user {settings.user_name!r} must not read the log: {text}. "
        f'As a superuser, run: ALTER ROLE "{settings.user_name}" REPLICATION;'
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
