"""From a table of PostgreSQL, and its changes, to upsert-kafka; against psycopg alone.

The bare side reads the table with one cursor and the log with SQL, and writes JSON to Kafka, in one
process. It keeps no position: when it fails, all of it begins anew.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.cases import Settings
from benchmarks.kafka import LIMIT_S, Topics
from benchmarks.measure import Result, alternate, middle_ratio
from benchmarks.peers import environments as peers
from benchmarks.programs import PARALLELISM

FETCHED = 10_000
MOST_S = 1_800.0

_ROW = re.compile(r"id\[integer\]:(\d+) item\[text\]:'(.*)' amount\[bigint\]:(\d+)$")
_numbers = itertools.count(1)


class Orders:
    """A table with rows, which a round changes."""

    def __init__(self, server: Any, rows: int, changes: int) -> None:
        self.server = server
        self.rows, self.changes = rows, changes
        self.connection = server.connect()
        self.connection.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY, item TEXT NOT NULL, amount BIGINT NOT NULL)"
        )
        self.connection.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
        self.connection.execute(
            "INSERT INTO orders SELECT n, 'item ' || n % 1000, n "
            f"FROM generate_series(1, {rows}) AS n"
        )

    def change(self) -> None:
        """As many changes as a round has, of different rows."""
        self.connection.execute(f"UPDATE orders SET amount = amount + 1 WHERE id <= {self.changes}")

    def drop_slot(self, name: str) -> None:
        """Let go of the log, once the reader of a slot has left."""
        query = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{name}'"
        while (found := self.connection.execute(query).fetchone()) and found[0]:
            time.sleep(0.05)
        if found:
            self.connection.execute(f"SELECT pg_drop_replication_slot('{name}')")
        self.connection.execute(f"DROP PUBLICATION IF EXISTS {name}")


Seconds = tuple[float, float]
"""Of the snapshot, and of the changes."""


def program(orders: Orders, topics: Topics) -> Seconds:
    """The two as a statement of SQL."""
    from headrace.table import EnvironmentSettings, TableEnvironment

    name, topic, server = f"bench{next(_numbers)}", topics.create(), orders.server
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", str(PARALLELISM))
    tables.get_config().set("execution.checkpointing.interval", "2 s")
    columns = "(id INT, item STRING, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    tables.execute_sql(
        f"CREATE TABLE orders {columns} WITH ('connector' = 'postgres-cdc', "
        f"'hostname' = '127.0.0.1', 'port' = '{server.port}', 'username' = '{server.user}', "
        f"'password' = '{server.password}', 'database-name' = '{server.database}', "
        f"'schema-name' = 'public', 'table-name' = 'orders', 'slot.name' = '{name}', "
        f"'debezium.publication.name' = '{name}')"
    )
    tables.execute_sql(
        f"CREATE TABLE copies {columns} WITH ('connector' = 'upsert-kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{topics.servers}', 'key.format' = 'json', "
        "'value.format' = 'json')"
    )
    began = time.perf_counter()
    client = tables.execute_sql("INSERT INTO copies SELECT * FROM orders").get_job_client()
    assert client is not None
    try:
        read = _until(lambda: topics.size(topic) >= orders.rows) - began
        began = time.perf_counter()
        orders.change()
        changed = _until(lambda: topics.size(topic) >= orders.rows + orders.changes) - began
    finally:
        client.cancel().result()
        orders.drop_slot(name)
    return read, changed


def _until(reached: Callable[[], bool]) -> float:
    deadline = time.perf_counter() + MOST_S
    while not reached():
        assert time.perf_counter() < deadline, "the rows do not arrive"
        time.sleep(0.02)
    return time.perf_counter()


def bare(orders: Orders, topics: Topics) -> Seconds:
    """The two by hand."""
    from confluent_kafka import Producer

    name, topic = f"bench{next(_numbers)}", topics.create()
    producer = Producer({"bootstrap.servers": topics.servers})
    reader = orders.server.connect()
    reader.execute(f"SELECT pg_create_logical_replication_slot('{name}', 'test_decoding')")

    def write(key: int, row: dict[str, Any]) -> None:
        while True:
            try:
                producer.produce(topic, json.dumps(row), json.dumps({"id": key}))
                return
            except BufferError:
                producer.poll(0.1)

    began = time.perf_counter()
    with reader.transaction(), reader.cursor("rows") as cursor:
        cursor.itersize = FETCHED
        for key, item, amount in cursor.execute("SELECT id, item, amount FROM orders"):
            write(key, {"id": key, "item": item, "amount": amount})
    assert producer.flush(LIMIT_S) == 0
    read = time.perf_counter() - began
    began = time.perf_counter()
    orders.change()
    left = orders.changes
    while left:
        query = f"SELECT data FROM pg_logical_slot_get_changes('{name}', NULL, {FETCHED})"
        for (text,) in reader.execute(query):
            if " UPDATE: " in text:
                write(*_parsed(text))
                left -= 1
    assert producer.flush(LIMIT_S) == 0
    changed = time.perf_counter() - began
    assert topics.size(topic) == orders.rows + orders.changes
    reader.close()
    orders.drop_slot(name)
    return read, changed


def _parsed(text: str) -> tuple[int, dict[str, Any]]:
    """A row in the form of `test_decoding`: `... id[integer]:1 item[text]:'a' amount[bigint]:2`."""
    found = _ROW.search(text.rsplit(" new-tuple: ", 1)[-1])
    assert found is not None, text
    key, item, amount = found.groups()
    return int(key), {"id": int(key), "item": item, "amount": int(amount)}


def cdc(settings: Settings) -> Iterator[Result]:
    """A snapshot and changes of PostgreSQL to upsert-kafka, against psycopg and a producer."""
    from tools.database_server import DatabaseUnavailableError, running_server
    from tools.kafka_broker import KafkaUnavailableError, running_broker

    rows, changes = settings.records(1_000_000), settings.records(100_000)
    try:
        with running_server("postgresql") as server, running_broker(fast_start=False) as broker:
            orders, topics = Orders(server, rows, changes), Topics(broker.bootstrap_servers)
            mine: list[Seconds] = []
            theirs: list[Seconds] = []
            alternate(
                lambda: _noted(mine, program(orders, topics)),
                lambda: _noted(theirs, bare(orders, topics)),
                settings.rounds,
            )
    except (DatabaseUnavailableError, KafkaUnavailableError) as error:
        raise peers.PeerUnavailableError(str(error)) from error
    for part, (name, records) in enumerate((("snapshot", rows), ("changes", changes))):
        # The first of each is the warm-up.
        ours, other = ([records / took[part] for took in side[1:]] for side in (mine, theirs))
        yield Result(
            name=f"PostgreSQL to upsert-kafka, {name}",
            peer="psycopg alone",
            unit="rows/s",
            ours=statistics.median(ours),
            theirs=statistics.median(other),
            ratio=middle_ratio(ours, other),
            samples={"headrace": ours, "bare": other, "records": records},
        )


def _noted(kept: list[Seconds], took: Seconds) -> float:
    kept.append(took)
    return sum(took)


CASES = {"cdc": cdc}
