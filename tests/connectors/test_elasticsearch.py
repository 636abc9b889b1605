"""Documents in a real Elasticsearch, in this process."""

from __future__ import annotations

import datetime
import http.server
import itertools
import json
import threading
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, JobExecutionError
from headrace.common.types import Row
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    FlushBackoffType,
    HttpHost,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink
from tests.faults import killed_slots
from tests.unit.datastream.connectors.reading import FakeWriterContext
from tools.database_server import DatabaseUnavailableError
from tools.elasticsearch_server import ElasticsearchServer

pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[ElasticsearchServer]:
    try:
        made = ElasticsearchServer()
        try:
            yield made.start()  # type: ignore[misc]
        finally:
            made.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


def sink(server: ElasticsearchServer, emitter: ElasticsearchEmitter) -> ElasticsearchSink:
    builder = Elasticsearch7SinkBuilder().set_hosts(server.url).set_emitter(emitter)
    builder.set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 100)
    builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    return builder.set_bulk_flush_max_actions(300).build()


def run(made: ElasticsearchSink, values: list[Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(values).sink_to(made)
    run_in_process(env)


def ask(server: ElasticsearchServer, path: str, method: str = "GET") -> Any:
    request = urllib.request.Request(f"{server.url}/{path}", method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def documents(server: ElasticsearchServer, index: str) -> dict[str, Any]:
    ask(server, f"{index}/_refresh", "POST")
    found = ask(server, f"{index}/_search?size=10000")["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in found}


def test_documents_by_key_are_written_over_each_other(server: ElasticsearchServer) -> None:
    index = f"test-{next(_numbers)}"
    values = [{"id": i % 700, "n": i, "text": f"ä{i}"} for i in range(1_000)]
    run(sink(server, ElasticsearchEmitter.static_index(index, "id")), values)
    expected = {str(v["id"]): v for v in values}
    assert documents(server, index) == expected


def test_rows_into_the_index_that_they_name(server: ElasticsearchServer) -> None:
    base = f"test-{next(_numbers)}"
    day = datetime.date(2026, 1, 2)
    rows = [Row(place=f"{base}-{i % 2}", price=Decimal("1.5"), day=day) for i in range(4)]
    run(sink(server, ElasticsearchEmitter.dynamic_index("place")), rows)
    for name in (f"{base}-0", f"{base}-1"):
        expected = {"place": name, "price": 1.5, "day": "2026-01-02"}
        assert list(documents(server, name).values()) == [expected] * 2


def test_a_document_that_does_not_fit_ends_the_job(server: ElasticsearchServer) -> None:
    index = f"test-{next(_numbers)}"
    run(sink(server, ElasticsearchEmitter.static_index(index)), [{"n": 1}])
    with pytest.raises(JobExecutionError, match=r"refused a document.*failed to parse"):
        run(sink(server, ElasticsearchEmitter.static_index(index)), [{"n": "no number"}])


def test_the_next_node_is_asked_when_one_is_away(server: ElasticsearchServer) -> None:
    index = f"test-{next(_numbers)}"
    emitter = ElasticsearchEmitter.static_index(index)
    hosts = ["http://127.0.0.1:1", server.url]
    run(Elasticsearch7SinkBuilder().set_hosts(hosts).set_emitter(emitter).build(), [{"n": 1}])
    assert list(documents(server, index).values()) == [{"n": 1}]


def test_a_probe_names_the_nodes_that_answer(server: ElasticsearchServer) -> None:
    emitter = ElasticsearchEmitter.static_index("i")
    builder = Elasticsearch7SinkBuilder().set_emitter(emitter)
    builder.set_hosts(["http://127.0.0.1:1", server.url])
    found = builder.build().probe()
    assert server.url.removeprefix("http://") in found
    assert "http://127.0.0.1:1 does not answer" in found
    wrong = builder.set_hosts(server.url).set_connection_path_prefix("a/b/c/d").build()
    with pytest.raises(HeadraceError, match=r"it answers 400: .*no handler found"):
        wrong.probe()


def test_nobody_there() -> None:
    emitter = ElasticsearchEmitter.static_index("i")
    made = Elasticsearch7SinkBuilder().set_hosts("127.0.0.1:1").set_emitter(emitter).build()
    writer = made.create_writer(FakeWriterContext())
    writer.write([{"n": 1}], None)
    with pytest.raises(HeadraceError, match=r"http://127\.0\.0\.1:1 can be reached"):
        writer.flush(False)


class _Closing(http.server.BaseHTTPRequestHandler):
    """Closes each connection after an answer, and does not say so."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[attr-defined]
        answer = b'{"errors": false, "items": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


def test_a_connection_that_was_closed_meanwhile_is_made_again() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), _Closing) as closing:
        closing.bodies = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=closing.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        host = f"127.0.0.1:{closing.server_port}"
        emitter = ElasticsearchEmitter.static_index("i")
        made = Elasticsearch7SinkBuilder().set_hosts(host).set_emitter(emitter).build()
        writer = made.create_writer(FakeWriterContext())
        try:
            for number in range(2):
                writer.write([{"n": number}], None)
                writer.flush(False)
        finally:
            writer.close()
            closing.shutdown()
            thread.join()
        assert len(closing.bodies) == 2  # type: ignore[attr-defined]


def test_what_goes_to_the_bulk_api() -> None:
    typed = ElasticsearchEmitter.static_index("i", doc_type="t")
    assert typed.action({"a": 1}) == b'{"index": {"_index": "i", "_type": "t"}}\n{"a": 1}\n'
    with pytest.raises(FunctionTypeError, match="map the stream to dicts"):
        typed.action((1, 2))


def test_builders_say_what_is_missing() -> None:
    with pytest.raises(GraphError, match="Hosts cannot be empty"):
        Elasticsearch6SinkBuilder().build()
    with pytest.raises(GraphError, match="set_emitter"):
        Elasticsearch6SinkBuilder().set_hosts("localhost:9200").build()
    with pytest.raises(GraphError, match="does not support the EXACTLY_ONCE"):
        Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    assert str(HttpHost.create("https://search:443")) == "https://search:443"


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(server: ElasticsearchServer, tmp_path: Path) -> None:
    index = f"test-{next(_numbers)}"
    builder = Elasticsearch7SinkBuilder().set_hosts(server.url)
    made = builder.set_emitter(ElasticsearchEmitter.static_index(index, "id")).build()
    killed_slots.check_sink(
        lambda s: s.map(lambda i: {"id": i}).sink_to(made),
        lambda: [document["id"] for document in documents(server, index).values()],
        tmp_path,
    )


def test_the_sink_keeps_the_contract(server: ElasticsearchServer) -> None:
    indexes: list[str] = []

    def made() -> ElasticsearchSink:
        emitter = ElasticsearchEmitter.static_index(indexes[-1], "id")
        return Elasticsearch7SinkBuilder().set_hosts(server.url).set_emitter(emitter).build()

    check_sink(
        made,
        [{"id": i} for i in range(60)],
        None,
        read=lambda: list(documents(server, indexes[-1]).values()),
        clear=lambda: indexes.append(f"test-{next(_numbers)}"),
        parallelisms=(2,),
        epoch_records=12,
    )
