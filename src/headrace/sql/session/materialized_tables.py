"""CREATE, ALTER and DROP MATERIALIZED TABLE: tables that a query fills and keeps up to date.

A continuous refresh is a streaming INSERT, whose checkpoints come as often as the freshness says; a
full refresh is an INSERT OVERWRITE in batch mode, by the clock. Both run in a session of their own
beside the user's, which has other settings and sees nothing temporary.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.common.job_client import JobClient
from headrace.common.options import (
    CHECKPOINTING_INTERVAL,
    PIPELINE_NAME,
    RUNTIME_MODE,
    SAVEPOINT_DIR,
    SAVEPOINT_PATH,
)
from headrace.common.settings import table_options as o
from headrace.sql import statements as s
from headrace.sql.catalog import TableEntry, TablePath
from headrace.sql.catalog.entries import DATE_FORMATTER, PARTITION_FIELDS
from headrace.sql.catalog.manager import quoted, text_literal
from headrace.sql.catalog.materialization import Freshness, Materialization
from headrace.sql.catalog.start_mode import FROM_BEGINNING, StartMode
from headrace.sql.functions.builtin.times import date_format, now
from headrace.sql.parsing import parse_statement
from headrace.sql.plan.expressions import Schema
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.sql.session.starting_points import beginning_at
from headrace.sql.session.table_changes import changed_table
from headrace.sql.session.table_plan import declared_schema
from headrace.sql.types import CharType, MapType, VarCharType
from headrace.sql.types.type_rules import string_type

__all__ = ["alter_materialized_table", "create_materialized_table", "drop_materialized_table"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


# CREATE.


def create_materialized_table(
    session: Session, statement: s.CreateMaterializedTable, text: str
) -> StatementResult:
    """CREATE [OR ALTER] MATERIALIZED TABLE."""
    full = session.catalogs.full_path(statement.path)
    known = session.catalogs.find_table(full)
    if known is not None and statement.or_alter:
        _alter_as_created(session, full, known, statement, text)
        return StatementResult.ok()
    session.catalogs.catalog(full[0]).check_materialized_tables()
    materialization = _declared(session, statement)
    entry = _entry(session, statement, materialization, text)
    session.catalogs.create_table(full, entry)
    try:
        _activate(session, full, entry, {})
    except BaseException:
        # As in Flink, a table that cannot be refreshed is not there.
        session.catalogs.drop_table(full, kind="MATERIALIZED TABLE")
        raise
    return StatementResult.ok()


def _declared(session: Session, statement: s.CreateMaterializedTable) -> Materialization:
    """Freshness and mode: each follows from the other if it is not said."""
    config, mode = session.config, statement.refresh_mode
    if statement.freshness is not None:
        freshness = Freshness.of(*statement.freshness)
    else:
        default = o.DEFAULT_FRESHNESS_FULL if mode == "FULL" else o.DEFAULT_FRESHNESS_CONTINUOUS
        freshness = Freshness.of_seconds(config.millis(default) // 1000)
    if mode is None:
        frequent = freshness.seconds * 1000 < config.millis(o.FRESHNESS_THRESHOLD)
        mode = "CONTINUOUS" if frequent else "FULL"
    if mode == "FULL":
        freshness.check_periodic()
    namespace = session.catalogs.namespace
    start = _start(statement.start_mode, mode)
    return Materialization(statement.query_text, namespace, freshness, mode, start)


def _start(words: tuple[str, ...] | None, mode: str) -> StartMode:
    start = FROM_BEGINNING if words is None else StartMode.of(*words)
    if mode == "FULL" and not start.everything:
        raise SqlError(
            f"START_MODE = {start} is for a continuous refresh: a full one reads all that there "
            "is. Set REFRESH_MODE = CONTINUOUS, or choose rows with WHERE"
        )
    return start


def _entry(
    session: Session,
    statement: s.CreateMaterializedTable,
    materialization: Materialization,
    text: str,
) -> TableEntry:
    table = statement.table
    side = _beside(session, materialization)
    schema = side.query_plan(statement.query, text).schema
    entry = replace(
        TableEntry.declared(replace(table, columns=_columns(statement, schema))),
        materialization=materialization,
    )
    _check(entry, schema)
    declared_schema(entry, session.binding())
    return entry


def _columns(
    statement: s.CreateMaterializedTable, schema: Schema
) -> tuple[s.ColumnDefinition, ...]:
    """Those of the query, with declared types, after declared ones that the query has not."""
    of_query = {f.name: s.ColumnDefinition(f.name, f.type) for f in schema}
    if len(of_query) < len(schema):
        twice = next(n for n in schema.names if list(schema.names).count(n) > 1)
        raise SqlError(f"A column named '{twice}' already exists in the schema.")
    if statement.names:
        if len(statement.names) != len(of_query):
            raise SqlError(
                "The number of columns in the column list must match the number of columns in the "
                "source schema."
            )
        for name in statement.names:
            if name not in of_query:
                raise SqlError(f"Column '{name}' not found in the source schema.")
        return tuple(of_query[name] for name in statement.names)
    added = []
    for column in statement.table.columns:
        if column.name in of_query:
            of_query[column.name] = column
        elif _is_stored(column):
            raise SqlError(
                f"Invalid as physical column '{column.name}' is defined in the DDL, but is not "
                "used in a query column."
            )
        else:
            added.append(column)
    return (*added, *of_query.values())


def _is_stored(column: s.ColumnDefinition) -> bool:
    return column.expression is None and not column.virtual


def _check(entry: TableEntry, query: Schema) -> None:
    """Keys and partitions are of columns that there are."""
    names = [c.name for c in entry.columns]
    for name in entry.primary_key:
        if name not in names:
            raise SqlError(f"Column '{name}' of a key is not defined in the table")
    for name in entry.partition_keys:
        if name not in query.names:
            raise SqlError(
                f"Partition column '{name}' not defined in the query's schema. Available columns: "
                f"[{_listed(query.names)}]."
            )
    for option, name in _formatters(entry):
        if name not in entry.partition_keys:
            raise SqlError(
                f"Column '{name}' referenced by materialized table option '{option}' isn't a "
                f"partition column. Available partition columns: [{_listed(entry.partition_keys)}]."
            )
        type_ = query[query.names.index(name)].type
        if not isinstance(type_, CharType | VarCharType):
            raise SqlError(
                f"Materialized table option '{option}' only supports referring to char, varchar "
                f"and string type partition column. Column `{name}` type is {type_.sql_text()}."
            )


def _listed(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _formatters(entry: TableEntry) -> list[tuple[str, str]]:
    """Options that say how the time of a refresh is written as a partition, and their columns."""
    return [
        (key, key.removeprefix(PARTITION_FIELDS).removesuffix(DATE_FORMATTER))
        for key in entry.options
        if key.startswith(PARTITION_FIELDS) and key.endswith(DATE_FORMATTER)
    ]


def _alter_as_created(
    session: Session,
    full: TablePath,
    known: TableEntry,
    statement: s.CreateMaterializedTable,
    text: str,
) -> None:
    before = known.materialization
    if before is None:
        raise SqlError(
            f"Table {'.'.join(full)} is not a materialized table. Only materialized table support "
            "create or alter operation."
        )
    if statement.refresh_mode not in (None, before.mode):
        raise SqlError("Changing of REFRESH MODE is unsupported")
    freshness = before.freshness
    if statement.freshness is not None:
        freshness = Freshness.of(*statement.freshness)
        if before.mode == "FULL":
            freshness.check_periodic()
    changed = replace(
        before,
        query=statement.query_text,
        namespace=session.catalogs.namespace,
        freshness=freshness,
        start=_start(statement.start_mode, before.mode),
    )
    entry = _entry(session, statement, changed, text)
    _check_appended(known.columns, entry.columns)
    if entry.partition_keys != known.partition_keys:
        raise SqlError("Changing of PARTITIONED BY is unsupported")
    _apply(session, full, known, entry)


# ALTER and DROP.


def alter_materialized_table(session: Session, statement: s.Alter) -> StatementResult:
    """ALTER MATERIALIZED TABLE."""
    full = session.catalogs.full_path(statement.path)
    entry = session.catalogs.find_table(full)
    if entry is None:
        if statement.if_exists:
            return StatementResult.ok()
        raise SqlError(f"Materialized table {quoted(full)} doesn't exist.")
    if entry.materialization is None:
        raise SqlError(
            f"Table {quoted(full)} is not a materialized table, does not support materialized "
            "table related operation."
        )
    if statement.change == "refresh":
        return _refresh(session, full, entry, statement.value)
    if statement.change == "suspend":
        _suspend(session, full, entry, entry.materialization)
    elif statement.change == "resume":
        _resume(session, full, entry, entry.materialization, statement.value)
    elif statement.change == "as":
        _apply(session, full, entry, _with_query(session, entry, *statement.value[1:]))
    else:
        changed = changed_table(session, entry, statement)
        _check_change(entry, changed, statement)
        declared_schema(changed, session.binding())
        _apply(session, full, entry, changed)
    return StatementResult.ok()


def drop_materialized_table(session: Session, path: s.Path, if_exists: bool) -> None:
    """DROP MATERIALIZED TABLE: what refreshes it goes first."""
    full = session.catalogs.full_path(path)
    entry = session.catalogs.find_table(full)
    if entry is not None and entry.materialization is not None:
        session.scheduler.stop(full)
        client = _running(session, entry.materialization)
        if client is not None:
            client.cancel().result()
    session.catalogs.drop_table(full, if_exists=if_exists, kind="MATERIALIZED TABLE")


def _with_query(
    session: Session, entry: TableEntry, query: str, start_mode: tuple[str, ...] | None
) -> TableEntry:
    assert entry.materialization is not None
    start = _start(start_mode, entry.materialization.mode)
    if not all(map(_is_stored, entry.columns)):
        raise SqlError(
            "ALTER query for MATERIALIZED TABLE with schema containing non persisted columns is "
            "not supported, consider using CREATE OR ALTER MATERIALIZED TABLE instead"
        )
    namespace = session.catalogs.namespace
    changed = replace(entry.materialization, query=query, namespace=namespace, start=start)
    schema = _query_plan(_beside(session, changed), query).schema
    columns = [s.ColumnDefinition(f.name, f.type) for f in schema]
    _check_appended(entry.columns, columns)
    kept = len(entry.columns)
    appended = [replace(c, type=c.type.nullable()) for c in columns[kept:] if c.type is not None]
    return replace(entry, columns=(*entry.columns, *appended), materialization=changed)


def _check_appended(before: Any, after: Any) -> None:
    """Columns may only be added, behind those that there are."""
    old, new = [list(filter(_is_stored, columns)) for columns in (before, after)]
    if len(old) > len(new):
        raise SqlError(
            "Failed to modify query because drop column is unsupported. When modifying a query, "
            "you can only append new columns at the end of original schema. The original schema "
            f"has {len(old)} columns, but the newly derived schema from the query has {len(new)} "
            "columns."
        )
    for position, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a.name != b.name or a.type.nullable() != b.type.nullable():
            shown = [f"`{c.name}` {c.type.sql_text()}" for c in (a, b)]
            raise SqlError(
                "When modifying the query of a materialized table, currently only support "
                "appending columns at the end of original schema, dropping, renaming, and "
                f"reordering columns are not supported.\nColumn mismatch at position {position}: "
                f"Original column is [{shown[0]}], but new column is [{shown[1]}]."
            )


def _check_change(before: TableEntry, after: TableEntry, statement: s.Alter) -> None:
    """What ADD, MODIFY, DROP, SET and RESET leave alone: the columns that the query fills."""
    failed = "Failed to execute ALTER MATERIALIZED TABLE statement.\n"
    if statement.change in ("set", "reset") and not statement.value:
        what = "option" if statement.change == "set" else "key"
        raise SqlError(f"{failed}{statement.change.upper()} does not support empty {what}.")
    if statement.change == "reset" and "connector" in statement.value:
        raise SqlError(f"{failed}RESET does not support changing 'connector'.")
    old, new = [{c.name: c for c in entry.columns if _is_stored(c)} for entry in (before, after)]
    for name in old:
        if name not in new:
            raise SqlError(
                f"{failed}The column `{name}` is a persisted column. Dropping of persisted "
                "columns is not supported."
            )
    for name, column in new.items():
        if name not in old:
            raise SqlError(
                f"{failed}Invalid schema change. All persisted (physical and metadata) columns in "
                "the schema part need to be present in the query part.\nHowever, physical column "
                f"`{name}` could not be found in the query."
            )
        if old[name].type != column.type:
            texts = [c.type.sql_text() for c in (old[name], column) if c.type is not None]
            raise SqlError(
                f"{failed}Column '{name}' with type {texts[0]} can not be changed to type "
                f"{texts[1]}."
            )


def _apply(session: Session, full: TablePath, before: TableEntry, after: TableEntry) -> None:
    """Changes a table: a continuous job begins anew, and goes on as it was if it cannot."""
    materialization = before.materialization
    assert materialization is not None
    previous, active = before, full in session.scheduler
    if materialization.mode == "CONTINUOUS":
        _check_start(session, materialization, after.materialization)
        active = materialization.status == "ACTIVATED"
        if _running(session, materialization) is not None:
            previous = _suspend(session, full, before, materialization)
    session.catalogs.replace_table(full, _with(after, savepoint=None))
    if not active:
        return
    try:
        _activate(session, full, after, {})
    except BaseException:
        session.catalogs.replace_table(full, previous)
        if previous is not before:
            _activate(session, full, previous, {})
        raise


def _check_start(session: Session, before: Materialization, after: Materialization | None) -> None:
    """Positions of a job fit its own query alone."""
    positions = before.savepoint is not None or _running(session, before) is not None
    if positions and after is not None and after.start.resumes:
        raise SqlError(
            f"START_MODE = {after.start}: the changed table cannot go on where the job before it "
            "was. Set START_MODE to FROM_BEGINNING, FROM_NOW or FROM_TIMESTAMP with CREATE OR "
            "ALTER MATERIALIZED TABLE"
        )


# Refreshing.


def _activate(
    session: Session, full: TablePath, entry: TableEntry, options: Mapping[str, str]
) -> None:
    """Starts what refreshes a table."""
    materialization = entry.materialization
    assert materialization is not None
    if materialization.mode == "FULL":
        _schedule(session, full, materialization, options)
        session.catalogs.replace_table(full, _with(entry, status="ACTIVATED"))
        return
    name = f"Materialized_table_{quoted(full)}_continuous_refresh_job"
    settings = {PIPELINE_NAME.key: name}
    if not session.config.get_configuration().contains(CHECKPOINTING_INTERVAL):
        settings[CHECKPOINTING_INTERVAL.key] = f"{materialization.freshness.seconds} s"
    if materialization.savepoint is not None:
        settings[SAVEPOINT_PATH.key] = materialization.savepoint
    client = _insert(session, full, materialization, settings, options=options)
    job = str(client.get_job_id())
    activated = _with(entry, status="ACTIVATED", job_id=job, savepoint=None)
    session.catalogs.replace_table(full, activated)


def _schedule(
    session: Session,
    full: TablePath,
    materialization: Materialization,
    options: Mapping[str, str],
) -> None:
    # As in Flink, later refreshes have the settings that the session has now.
    origin = _beside(session, materialization)
    # What cannot be refreshed is refused now, not at the first time of the schedule.
    _sink_plan(origin, full, materialization, {}, options)

    def refresh(due: datetime.datetime) -> None:
        entry = session.catalogs.find_table(full)
        known = None if entry is None else entry.materialization
        # Another session may have dropped or suspended it.
        if entry is None or known is None or known.status == "SUSPENDED":
            session.scheduler.stop(full)
            return
        name = f"Materialized_table_{quoted(full)}_periodic_refresh_job"
        client = _insert(
            origin,
            full,
            known,
            {PIPELINE_NAME.key: name},
            partition=_partition_of(entry, due),
            options=options,
            owner=session,
        )
        client.get_job_execution_result().result()

    session.scheduler.start(full, materialization.freshness, refresh)


def _partition_of(entry: TableEntry, due: datetime.datetime) -> dict[str, str]:
    """The partition that a refresh at some time is for: that of one freshness before."""
    assert entry.materialization is not None
    begin = due - datetime.timedelta(seconds=entry.materialization.freshness.seconds)
    micros = (begin - _EPOCH) // _MICROSECOND
    return {
        name: date_format(micros, entry.options[option]) or ""
        for option, name in _formatters(entry)
    }


def _refresh(
    session: Session, full: TablePath, entry: TableEntry, partition: dict[str, str]
) -> StatementResult:
    """REFRESH: one batch job now."""
    assert entry.materialization is not None
    _check_partition(entry, partition)
    settings = {PIPELINE_NAME.key: f"Materialized_table_{quoted(full)}_one_time_refresh_job"}
    full_refresh = replace(entry.materialization, mode="FULL")
    client = _insert(session, full, full_refresh, settings, partition=partition)
    result = StatementResult.of_rows(
        ["job id", "cluster info"],
        [(str(client.get_job_id()), {"execution.target": "spark"})],
        types=[string_type(), MapType(string_type(), string_type())],
    )
    return replace(result, wait=lambda seconds: _wait(client, seconds))


def _wait(client: JobClient, seconds: float | None) -> None:
    client.get_job_execution_result().result(seconds)


def _check_partition(entry: TableEntry, partition: dict[str, str]) -> None:
    types = {c.name: c.type for c in entry.columns}
    unknown = [name for name in partition if name not in entry.partition_keys]
    if unknown:
        known = "\n".join(entry.partition_keys)
        raise SqlError(
            "The partition spec contains unknown partition keys:\n\n"
            + "\n".join(unknown)
            + f"\n\nAll known partition keys are:\n\n{known}"
        )
    others = [n for n in partition if not isinstance(types[n], CharType | VarCharType)]
    if others:
        raise SqlError(
            "Currently, refreshing materialized table only supports referring to char, varchar and "
            "string type partition keys. All specified partition keys in partition specs with "
            "unsupported types are:\n\n" + "\n".join(others)
        )


def _suspend(
    session: Session, full: TablePath, entry: TableEntry, materialization: Materialization
) -> TableEntry:
    """Stops what refreshes a table, a continuous job with a savepoint."""
    name = quoted(full)
    continuous = materialization.mode == "CONTINUOUS"
    if materialization.status == "SUSPENDED":
        what = (
            f"continuous refresh job has been suspended, jobId is {materialization.job_id}."
            if continuous
            else "refresh workflow has been suspended."
        )
        raise SqlError(f"Materialized table {name} {what}")
    savepoint = None
    if continuous:
        directory = session.config.read(SAVEPOINT_DIR)
        if not directory:
            raise SqlError(
                "Savepoint directory is not configured, can't stop job with savepoint. Set "
                f"'{SAVEPOINT_DIR.key}' first"
            )
        client = _running(session, materialization)
        if client is None:
            raise SqlError(
                f"Failed to suspend the continuous refresh job for materialized table {name}: the "
                f"job {materialization.job_id} has ended; RESUME starts another"
            )
        savepoint = client.stop_with_savepoint(False, directory).result()
    session.scheduler.stop(full)
    suspended = _with(entry, status="SUSPENDED", savepoint=savepoint)
    session.catalogs.replace_table(full, suspended)
    return suspended


def _resume(
    session: Session,
    full: TablePath,
    entry: TableEntry,
    materialization: Materialization,
    options: Mapping[str, str],
) -> None:
    name = quoted(full)
    if materialization.mode == "FULL":
        # One that another session scheduled, which has ended, is scheduled again.
        if materialization.status == "ACTIVATED" and full in session.scheduler:
            raise SqlError(f"Materialized table {name} refresh workflow has been resumed.")
    elif _running(session, materialization) is not None:
        raise SqlError(
            f"Materialized table {name} continuous refresh job has been resumed, jobId is "
            f"{materialization.job_id}."
        )
    _activate(session, full, entry, options)


def _running(session: Session, materialization: Materialization) -> JobClient | None:
    """The continuous job of a table, unless it has ended."""
    job_id = materialization.job_id
    return None if job_id is None else session.running_job(job_id)


def _with(entry: TableEntry, **changes: Any) -> TableEntry:
    assert entry.materialization is not None
    return replace(entry, materialization=replace(entry.materialization, **changes))


# Jobs.


def _beside(
    session: Session, materialization: Materialization, settings: Mapping[str, str] | None = None
) -> Session:
    mode = "BATCH" if materialization.mode == "FULL" else "STREAMING"
    always = {RUNTIME_MODE.key: mode, o.DML_SYNC.key: "false"}
    return session.beside(materialization.namespace, {**always, **(settings or {})})


def _insert(
    session: Session,
    full: TablePath,
    materialization: Materialization,
    settings: Mapping[str, str],
    *,
    partition: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    owner: Session | None = None,
) -> JobClient:
    """Starts a job that fills the table; its owner lists it."""
    side = _beside(session, materialization, settings)
    plan = _sink_plan(side, full, materialization, partition or {}, options or {})
    client = side.run_inserts([plan]).job_client
    assert client is not None
    for job in side.jobs:
        (owner or session).keep_job(replace(job, refreshes=not side.batch))
    return client


def _sink_plan(
    side: Session,
    full: TablePath,
    materialization: Materialization,
    partition: Mapping[str, str],
    options: Mapping[str, str],
) -> Any:
    text = materialization.query
    if partition:
        wanted = " AND ".join(f"{quoted([k])} = {text_literal(v)}" for k, v in partition.items())
        text = f"SELECT * FROM (\n{text}\n) WHERE {wanted}"
    query = _query_plan(side, text)
    start = materialization.start
    if not side.batch and not start.everything:
        zone = ZoneInfo(side.zone)
        moment = start.moment(now(), zone)
        query = beginning_at(query, None if moment is None else moment // 1000)
    names = query.schema.names
    return side.sink_plan(full, query, columns=names, options=dict(options), overwrite=side.batch)


def _query_plan(side: Session, text: str) -> Any:
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return side.query_plan(statement.tree, text)
