"""A reader of changes in the hands of a test."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc import ChangeRecord, PostgresSource, PostgresSourceBuilder
from headrace.datastream.connectors.cdc.source import ChangeSource
from tools.database_server import PostgreSqlServer

LIMIT_S = 240.0
_numbers = itertools.count(1)


class Shop:
    """A schema of a test, with a slot and a publication; they go with it."""

    def __init__(self, server: PostgreSqlServer) -> None:
        self.server = server
        self.name = f"cdc{next(_numbers)}"
        self.connection = server.connect()
        self.execute(f"CREATE SCHEMA {self.name}")
        self.execute(f"SET search_path TO {self.name}")

    def execute(self, sql: Any) -> list[Any]:
        cursor = self.connection.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def table(self, name: str, columns: str, full: bool = True) -> None:
        self.execute(f"CREATE TABLE {name} ({columns})")
        if full:
            self.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")

    def builder(self, tables: str) -> PostgresSourceBuilder:
        return (
            PostgresSource.builder()
            .hostname("127.0.0.1")
            .port(self.server.port)
            .database(self.server.database)
            .username(self.server.user)
            .password(self.server.password)
            .schema_list(self.name)
            .table_list(rf"{self.name}\.(?:{tables})")
            .slot_name(self.name)
            .publication_name(self.name)
        )

    def options(self, tables: str, **more: str) -> str:
        """Of a table in SQL."""
        given = {
            "connector": "postgres-cdc",
            "hostname": "127.0.0.1",
            "port": str(self.server.port),
            "username": self.server.user,
            "password": self.server.password,
            "database-name": self.server.database,
            "schema-name": self.name,
            "table-name": tables,
            "slot.name": self.name,
            "debezium.publication.name": self.name,
            **{k.replace("__", ".").replace("_", "-"): v for k, v in more.items()},
        }
        return ", ".join(f"'{k}' = '{v}'" for k, v in given.items())

    def confirmed(self) -> str:
        """How far the log is let go, as a text that can be compared with `pg_lsn`."""
        sql = (
            f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{self.name}'"
        )
        return str(self.execute(sql)[0][0])

    def close(self) -> None:
        self.execute(f"DROP SCHEMA {self.name} CASCADE")
        self.execute(f"DROP PUBLICATION IF EXISTS {self.name}")
        sql = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{self.name}'"
        deadline = time.monotonic() + LIMIT_S
        while (found := self.execute(sql)) and found[0][0] and time.monotonic() < deadline:
            time.sleep(0.05)
        if found:
            self.execute(f"SELECT pg_drop_replication_slot('{self.name}')")
        self.connection.close()


class _Context:
    """What a reader may use."""

    subtask = 0
    parallelism = 1
    runtime_context = None
    finds_idleness = False

    def now_ms(self) -> int:
        return 0

    def data_available(self) -> None:
        pass

    def set_aside(self, *_: object) -> bool:
        return False


class Capture:
    """Reads a source from its beginning or from a split, and keeps what came."""

    def __init__(self, source: ChangeSource, split: Any = None) -> None:
        if split is None:
            enumerator = source.create_enumerator(1)
            [[split]] = enumerator.discover(0).values()
        self.source = source
        self.reader = source.create_reader(_Context())  # type: ignore[arg-type]
        self.reader.add_splits([split])
        self.records: list[ChangeRecord] = []

    def poll(self, max_records: int = 1_000) -> bool:
        """Whether something came."""
        batch = self.reader.poll(max_records)
        self.records += [] if batch is None else batch.values
        return batch is not None

    def until(self, condition: Callable[[], bool], max_records: int = 1_000) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if not self.poll(max_records):
                assert time.monotonic() < deadline, f"only {self.records} came"
                time.sleep(0.005)

    def checkpoint(self, number: int, complete: bool = False) -> Any:
        self.reader.on_checkpoint(number)
        [split] = self.reader.snapshot()
        if complete:
            self.reader.on_checkpoint_complete(number)
        return split

    def go_on(self, split: Any) -> Capture:
        """What another process does after this one has failed."""
        self.reader.close()
        following = Capture(self.source, split)
        following.records = self.records
        return following

    def close(self) -> None:
        self.reader.close()


@contextmanager
def capturing(source: ChangeSource) -> Iterator[Capture]:
    capture = Capture(source)
    try:
        yield capture
    finally:
        capture.close()


def refused(source: ChangeSource) -> str:
    """Why a source cannot begin."""
    with pytest.raises(HeadraceError) as caught:
        Capture(source)
    return str(caught.value)


def read_on(capture: Capture) -> None:
    """Until an error comes."""
    capture.until(lambda: False)


def ops(capture: Capture) -> list[tuple[str, Any, Any]]:
    """What came: the letter of each change, and the row before and after it."""

    def values(row: dict[str, Any] | None) -> Any:
        return None if row is None else tuple(row.values())

    return [(r.op, values(r.before), values(r.after)) for r in capture.records]


def materialized(records: list[ChangeRecord]) -> list[tuple[Any, ...]]:
    """The rows that are left after all changes, each of which must fit to those before it."""
    left: list[tuple[Any, ...]] = []
    for record in records:
        if record.before is not None:
            left.remove(tuple(record.before.values()))
        if record.after is not None:
            left.append(tuple(record.after.values()))
    return sorted(left)
