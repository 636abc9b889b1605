"""Documents of a server that speaks MongoDB's protocol (FerretDB), in this process."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.batched_writer import BatchRefusedError
from headrace.datastream.connectors.mongodb import (
    MongoSerializationSchema,
    MongoSink,
    MongoSinkBuilder,
    MongoSource,
    MongoSourceBuilder,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import collect, run_in_process
from headrace.testing.connectors import check_sink, check_source
from tests.faults import killed_slots
from tools.database_server import DatabaseUnavailableError
from tools.mongodb_server import FerretDbServer

pymongo = pytest.importorskip("pymongo", reason="pip install 'headrace[mongodb]'")
Decimal128 = pytest.importorskip("bson.decimal128").Decimal128
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)


class Collections:
    """A server, and collections of tests in it."""

    def __init__(self, server: FerretDbServer) -> None:
        self.url = server.url
        self.client = pymongo.MongoClient(server.url)

    def new(self) -> str:
        return f"c{next(_numbers)}"

    def documents(self, name: str) -> list[dict[str, Any]]:
        return list(self.client.shop[name].find().sort("_id", 1))

    def sink(self, name: str) -> MongoSinkBuilder:
        return MongoSink.builder().set_uri(self.url).set_database("shop").set_collection(name)

    def source(self, name: str) -> MongoSourceBuilder:
        return MongoSource.builder().set_uri(self.url).set_database("shop").set_collection(name)


@pytest.fixture(scope="module")
def collections() -> Iterator[Collections]:
    try:
        server = FerretDbServer()
        try:
            server.start()
            made = Collections(server)
            yield made
            made.client.close()
        finally:
            server.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


def write(sink: MongoSink, values: list[Any], type_info: Any = None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(values, type_info).sink_to(sink)
    run_in_process(env)


def test_documents_with_an_id_are_there_once(collections: Collections) -> None:
    name = collections.new()
    check_sink(
        lambda: collections.sink(name).set_batch_size(7).build(),
        [{"_id": i, "text": f"t{i}"} for i in range(100)],
        None,
        read=lambda: collections.documents(name),
        clear=collections.client.shop[name].drop,
    )


def test_documents_without_an_id_are_there_at_least_once(collections: Collections) -> None:
    name = collections.new()
    check_sink(
        lambda: collections.sink(name).build(),
        [{"n": i} for i in range(100)],
        None,
        read=lambda: [{"n": found["n"]} for found in collections.documents(name)],
        clear=collections.client.shop[name].drop,
        guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
    )


def test_a_try_that_failed_half_way_is_made_again(collections: Collections) -> None:
    name = collections.new()
    writer: Any = collections.sink(name).build().create_writer(None)  # type: ignore[arg-type]
    writer.open()
    batch = writer.encode([{"n": i} for i in range(4)])
    writer.send(batch[:2])
    with pytest.raises(BatchRefusedError):
        writer.send(batch)
    writer.reconnect()
    writer.send(batch)
    writer.close()
    assert [found["n"] for found in collections.documents(name)] == [0, 1, 2, 3]


def test_a_source_gives_each_document_once(collections: Collections) -> None:
    name = collections.new()
    documents = [{"_id": i, "n": i % 3} for i in range(30)]
    collections.client.shop[name].insert_many(documents)
    check_source(lambda: collections.source(name).build(), documents)


def test_a_source_filters(collections: Collections) -> None:
    name = collections.new()
    rows = [{"_id": i, "n": i % 3, "more": "x"} for i in range(30)]
    collections.client.shop[name].insert_many(rows)
    builder = collections.source(name).set_filter({"n": 1}).set_projected_fields("n")
    check_source(
        lambda: builder.set_limit(4).set_fetch_size(3).build(),
        [{"_id": i, "n": 1} for i in (1, 4, 7, 10)],
    )


def test_ids_of_several_types_are_refused(collections: Collections) -> None:
    name = collections.new()
    collections.client.shop[name].insert_many([{"_id": 1}, {"_id": "a"}])
    env = StreamExecutionEnvironment.get_execution_environment()
    source = collections.source(name).build()
    with pytest.raises(JobExecutionError, match="more than one type"):
        collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "mixed"))


def test_rows_become_documents(collections: Collections) -> None:
    name = collections.new()
    inner = Types.ROW_NAMED(["day"], [Types.SQL_DATE()])
    row = Types.ROW_NAMED(["_id", "inner"], [Types.INT(), inner])
    write(collections.sink(name).build(), [Row(1, Row(datetime.date(2026, 1, 2)))], row)
    day = datetime.datetime(2026, 1, 2)
    assert collections.documents(name) == [{"_id": 1, "inner": {"day": day}}]


def test_decimals_become_those_of_mongodb() -> None:
    # FerretDB has none.
    sink = MongoSink.builder().set_uri("mongodb://h").set_database("d").set_collection("c").build()
    document = {"_id": 1, "prices": [Decimal("1.50")]}
    expected = {"_id": 1, "prices": [Decimal128("1.50")]}
    operation = pymongo.ReplaceOne({"_id": 1}, expected, upsert=True)
    assert sink.schema.serialize(document) == operation


def test_a_schema_may_delete(collections: Collections) -> None:
    class Changes(MongoSerializationSchema):
        def serialize(self, element: tuple[str, int]) -> Any:
            kind, key = element
            if kind == "delete":
                return pymongo.DeleteOne({"_id": key})
            return pymongo.UpdateOne({"_id": key}, {"$set": {"n": key}}, upsert=True)

    name = collections.new()
    changes = [("add", 1), ("add", 2), ("delete", 1)]
    write(collections.sink(name).set_serialization_schema(Changes()).build(), changes)
    assert collections.documents(name) == [{"_id": 2, "n": 2}]


def test_a_document_that_is_refused_ends_the_job(collections: Collections) -> None:
    class Inserting(MongoSerializationSchema):
        def serialize(self, element: int) -> Any:
            return pymongo.InsertOne({"_id": element})

    sink = collections.sink(collections.new()).set_serialization_schema(Inserting()).build()
    with pytest.raises(JobExecutionError, match="MongoDB refused a document"):
        write(sink, [1, 1])


def test_records_that_are_no_documents(collections: Collections) -> None:
    with pytest.raises(JobExecutionError, match="a document is a dict"):
        write(collections.sink(collections.new()).build(), [1])


def test_a_collection_that_is_not_there_is_empty(collections: Collections) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = collections.source("nowhere").build()
    assert collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "none")) == []


_WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: MongoSink.builder().build(), "set_uri"),
    (lambda: MongoSink.builder().set_uri("http://h"), "mongodb://"),
    (lambda: MongoSource.builder().set_uri("mongodb://h").build(), "set_database"),
    (lambda: MongoSink.builder().set_batch_size(0), "int of at least 1"),
    (lambda: MongoSink.builder().set_max_retries(-1), "int of at least 0"),
    (lambda: MongoSource.builder().set_fetch_size(0), "int of at least 1"),
    (lambda: MongoSource.builder().set_limit(-2), "int of at least -1"),
    (lambda: MongoSink.builder().set_serialization_schema(3), "makes a dict"),  # type: ignore[arg-type]
    (
        lambda: MongoSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE),
        "have an _id",
    ),
]


@pytest.mark.parametrize(("make", "words"), _WRONG)
def test_what_is_wrong_is_said_where_it_is_written(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((GraphError, FunctionTypeError), match=words):
        make()


def test_a_server_that_is_not_there() -> None:
    builder = MongoSink.builder().set_uri("mongodb://me:secret@127.0.0.1:1/?connectTimeoutMS=100")
    sink = builder.set_database("shop").set_collection("orders").build()
    with pytest.raises(HeadraceError, match=r"127\.0\.0\.1:1 does not answer") as told:
        sink.probe()
    assert "secret" not in str(told.value)


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(collections: Collections, tmp_path: Path) -> None:
    name = collections.new()
    sink = collections.sink(name).set_serialization_schema(lambda i: {"_id": i}).build()
    # Of two writers at a time, FerretDB may answer none.
    killed_slots.check_sink(
        lambda s: s.sink_to(sink).set_parallelism(1),
        lambda: [document["_id"] for document in collections.documents(name)],
        tmp_path,
    )
