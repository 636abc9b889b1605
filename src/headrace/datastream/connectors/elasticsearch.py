"""Elasticsearch and OpenSearch as sinks, at least once.

Documents go to the bulk API over HTTP with the standard library alone: Elastic's own client talks
to servers of one major version, and not to OpenSearch.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import http.client
import json
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, shorten_repr
from headrace.common.types import Row
from headrace.datastream.connectors.base import DeliveryGuarantee, Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.batched_writer import (
    BatchedWriter,
    BatchLimits,
    BatchRefusedError,
    Retries,
)

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "Emitter",
    "FlushBackoffType",
    "HttpHost",
    "OpensearchSinkBuilder",
]

_MB = 1024 * 1024
_BUSY = frozenset({429, 502, 503, 504})
_GONE = ("delete", 404)
_TIMEOUT_S = 60.0
_PROBE_S = 5.0
B = TypeVar("B", bound="ElasticsearchSinkBuilderBase")


class FlushBackoffType(Enum):
    """How long a sink waits before it sends again what the cluster was too busy for."""

    CONSTANT = (0,)
    EXPONENTIAL = (1,)
    NONE = (2,)


@dataclass(frozen=True)
class HttpHost:
    """A node of a cluster."""

    host: str
    port: int
    secure: bool = False

    @staticmethod
    def create(text: str) -> HttpHost:
        """The host in a text: `http://host:9200`, or without the scheme."""
        parts = urlsplit(text if "://" in text else f"http://{text}")
        if not parts.hostname or parts.scheme not in ("http", "https"):
            raise GraphError(f"a host is 'http://name:9200' or 'https://name:9200', not {text!r}")
        return HttpHost(parts.hostname, parts.port or 9200, parts.scheme == "https")

    def connection(self, timeout_s: float, verify: bool = True) -> http.client.HTTPConnection:
        """One that has yet to connect; `verify` looks at the certificate of the node."""
        if not self.secure:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        trust = ssl.create_default_context()
        if not verify:
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=trust)

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}"


class Emitter(ABC):
    """Makes actions of records."""

    @abstractmethod
    def maker(self) -> Callable[[list[Any]], list[bytes]]:
        """Called in each subtask: what makes the lines of the bulk API for each of some records."""


@dataclass(frozen=True)
class ElasticsearchEmitter(Emitter):
    """Makes an action of a record, which is a dict, or a row whose fields have names.

    A record with a key is written over the document of that key, which makes repeating it harmless.
    """

    index: str
    key_field: str | None = None
    doc_type: str | None = None
    dynamic: bool = False

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """All documents into one index.

        Args:
            index: Its name.
            key_field: The field that has the id of a document; Elasticsearch makes ids without it.
            doc_type: The type of documents, for Elasticsearch 6.
        """
        return ElasticsearchEmitter(index, key_field, doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Each document into the index that one of its fields names."""
        return ElasticsearchEmitter(index_field, key_field, doc_type, dynamic=True)

    def maker(self) -> Callable[[list[Any]], list[bytes]]:
        """What makes actions of records."""
        return lambda records: list(map(self.action, records))

    def action(self, record: Any) -> bytes:
        """The lines of the bulk API for a record."""
        document = _document(record)
        about = {"_index": str(document[self.index]) if self.dynamic else self.index}
        if self.doc_type is not None:
            about["_type"] = self.doc_type
        if self.key_field is None:
            return _lines({"index": about}, document)
        about["_id"] = str(document[self.key_field])
        return _lines({"update": about}, {"doc": document, "doc_as_upsert": True})


def _document(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Row):
        named: dict[str, Any] = record.as_dict(True)
        return named
    if isinstance(record, Mapping):
        return record
    raise FunctionTypeError(
        f"a document is a dict, or a row with names of fields, not {shorten_repr(record)}; map the "
        "stream to dicts before the sink"
    )


def _lines(*objects: Any) -> bytes:
    return b"".join(
        json.dumps(o, default=_json, ensure_ascii=False).encode() + b"\n" for o in objects
    )


def _json(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Row):
        return value.as_dict(True)
    raise TypeError(f"{value!r} ({type(value).__name__}) has no form in JSON")


@dataclass(frozen=True)
class ElasticsearchSink(Sink):
    """Writes documents, at least once. Make one with `Elasticsearch7SinkBuilder`."""

    hosts: tuple[HttpHost, ...] = ()
    emitter: Emitter | None = None
    limits: BatchLimits = BatchLimits(1_000, 5 * _MB)  # noqa: RUF009 - it cannot change
    retries: Retries = Retries(0)  # noqa: RUF009 - it cannot change
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    prefix: str = ""
    timeout_s: float = _TIMEOUT_S
    verify: bool = True

    @property
    def bulk_headers(self) -> dict[str, str]:
        """Those of a request with documents."""
        headers = {"Content-Type": "application/x-ndjson"}
        if self.user is not None:
            token = base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {token}"
        return headers

    def probe(self) -> str:
        """A node answers, as one is enough, and knows the user."""
        away: dict[HttpHost, str] = {}
        for host in self.hosts:
            problem = self._problem(host)
            if problem is not None:
                away[host] = problem
        if len(away) == len(self.hosts):
            said = "; ".join(f"{host}: {problem}" for host, problem in away.items())
            raise HeadraceError(
                f"no node of Elasticsearch or OpenSearch can be used: {said}; start one, or "
                "correct set_hosts() and set_connection_path_prefix(), or in SQL the options "
                "'hosts' and 'connection.path-prefix'"
            )
        found = ", ".join(str(host) for host in self.hosts if host not in away)
        return f"Elasticsearch or OpenSearch at {found}" + "".join(
            f"; {host} does not answer" for host in away
        )

    def _problem(self, host: HttpHost) -> str | None:
        try:
            with contextlib.closing(host.connection(_PROBE_S, self.verify)) as connection:
                connection.request("POST", f"{self.prefix}/_bulk", b"", self.bulk_headers)
                answer = connection.getresponse()
                status, said = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return str(error)
        if status in (401, 403):
            raise HeadraceError(
                f"Elasticsearch or OpenSearch at {host} takes no documents of the user "
                f"{self.user!r}: {status}; correct set_connection_username() and "
                "set_connection_password(), or in SQL the options 'username' and 'password', or "
                "give the user the right to write"
            )
        # What it takes amiss is that there are no documents, and not the path.
        fine = status == 400 and b"no handler" not in said
        return None if fine else f"it answers {status}: {said[:200]!r}"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _BulkWriter(self, context.subtask)


class ElasticsearchSinkBuilderBase:
    """Builds an `ElasticsearchSink`."""

    def __init__(self) -> None:
        self._sink = ElasticsearchSink()

    def _with(self: B, **changes: Any) -> B:
        self._sink = replace(self._sink, **changes)
        return self

    def get_http_host_class(self) -> type[HttpHost]:
        """The class of hosts."""
        return HttpHost

    def set_emitter(self: B, emitter: Emitter) -> B:
        """Set what makes actions of records."""
        if not isinstance(emitter, Emitter):
            raise FunctionTypeError(f"set_emitter takes an ElasticsearchEmitter, not {emitter!r}")
        return self._with(emitter=emitter)

    def set_hosts(self: B, hosts: str | list[str]) -> B:
        """Set the nodes of the cluster: `http://host:9200`."""
        given = hosts if isinstance(hosts, list) else [hosts]
        return self._with(hosts=tuple(map(HttpHost.create, given)))

    def set_delivery_guarantee(self: B, delivery_guarantee: DeliveryGuarantee) -> B:
        """Every record is written at least once; exactly once is refused, as in Flink."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise GraphError(
                "Elasticsearch sink does not support the EXACTLY_ONCE guarantee; where documents "
                "have keys AT_LEAST_ONCE gives the same ones"
            )
        return self

    def set_bulk_flush_max_actions(self: B, num_max_actions: int) -> B:
        """Set how many documents a request has; -1 for any number."""
        count = 2**31 if num_max_actions == -1 else num_max_actions
        return self._with(limits=replace(self._sink.limits, records=_positive(count)))

    def set_bulk_flush_max_size_mb(self: B, max_size_mb: int) -> B:
        """Set how many megabytes a request has; -1 for any number."""
        size = None if max_size_mb == -1 else _positive(max_size_mb) * _MB
        return self._with(limits=replace(self._sink.limits, size=size))

    def set_bulk_flush_interval(self: B, interval_millis: int) -> B:
        """Accepted as in Flink; what an epoch has left is written at its end."""
        return self

    def set_bulk_flush_backoff_strategy(
        self: B, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> B:
        """Set how often, and when, documents are sent again that the cluster was too busy for."""
        if flush_backoff_type is FlushBackoffType.NONE:
            return self._with(retries=Retries(0))
        factor = 2.0 if flush_backoff_type is FlushBackoffType.EXPONENTIAL else 1.0
        return self._with(retries=Retries(_positive(max_retries), delay_millis / 1_000, factor))

    def set_connection_username(self: B, username: str) -> B:
        """Set the user."""
        return self._with(user=username)

    def set_connection_password(self: B, password: str) -> B:
        """Set the user's password."""
        return self._with(password=password)

    def set_connection_path_prefix(self: B, prefix: str) -> B:
        """Set what comes before the path of each request."""
        return self._with(prefix="/" + prefix.strip("/") if prefix.strip("/") else "")

    def set_connection_request_timeout(self: B, timeout: int) -> B:
        """Accepted as in Flink; there is no pool of connections to wait for."""
        return self

    def set_connection_timeout(self: B, timeout: int) -> B:
        """Accepted as in Flink; connecting has the time of `set_socket_timeout`."""
        return self

    def set_socket_timeout(self: B, timeout: int) -> B:
        """Set the milliseconds that an answer may take."""
        return self._with(timeout_s=_positive(timeout) / 1_000)

    def build(self) -> ElasticsearchSink:
        """The sink."""
        if not self._sink.hosts:
            raise GraphError("Hosts cannot be empty: an Elasticsearch sink needs set_hosts()")
        if self._sink.emitter is None:
            raise GraphError("an Elasticsearch sink needs set_emitter()")
        return self._sink


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise GraphError(f"a positive number is needed, or -1 for none, not {value!r}")
    return value


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Builds a sink for Elasticsearch 6; its emitter has a `doc_type`."""


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """Builds a sink for Elasticsearch 7 and later.

    Example:
        >>> sink = (
        ...     Elasticsearch7SinkBuilder()
        ...     .set_hosts("http://localhost:9200")
        ...     .set_emitter(ElasticsearchEmitter.static_index("orders", "id"))
        ...     .build()
        ... )
        >>> stream.map(lambda order: {"id": order[0], "amount": order[1]}).sink_to(sink)
    """


class OpensearchSinkBuilder(ElasticsearchSinkBuilderBase):
    """Builds a sink for OpenSearch, which has the same bulk API."""

    def set_allow_insecure(self, allow_insecure: bool) -> OpensearchSinkBuilder:
        """Set whether certificates of nodes may be any, such as those that OpenSearch brings."""
        return self._with(verify=not allow_insecure)


class _BulkWriter(BatchedWriter):
    """One connection, to one node after the other when they fail."""

    def __init__(self, sink: ElasticsearchSink, subtask: int) -> None:
        super().__init__(sink.limits, sink.retries)
        self._sink = sink
        self._node = subtask
        self._connection: http.client.HTTPConnection | None = None
        self._headers = sink.bulk_headers
        assert sink.emitter is not None
        self._actions = sink.emitter.maker()

    @property
    def _host(self) -> HttpHost:
        return self._sink.hosts[self._node % len(self._sink.hosts)]

    def encode(self, values: list[Any]) -> list[Any]:
        return self._actions(values)

    def send(self, batch: Sequence[bytes]) -> Sequence[bytes]:
        # A server, or what is before it, may have closed a connection that nothing went through.
        tries = len(self._sink.hosts) + (self._connection is not None)
        for _ in range(tries):
            try:
                status, body = self._request(b"".join(batch))
                break
            except (OSError, http.client.HTTPException) as error:
                lost = error
                self.close()
                self._node += 1
        else:
            hosts = ", ".join(map(str, self._sink.hosts))
            raise HeadraceError(f"no node of {hosts} can be reached: {lost}") from lost
        if status in _BUSY:
            return batch
        if status != 200:
            raise BatchRefusedError(
                f"Elasticsearch at {self._host} refused a request with {status}: {body[:500]!r}"
            )
        return self._left(batch, json.loads(body))

    def _request(self, body: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._host.connection(self._sink.timeout_s, self._sink.verify)
        self._connection.request("POST", f"{self._sink.prefix}/_bulk", body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _left(self, batch: Sequence[bytes], answer: dict[str, Any]) -> list[bytes]:
        """The actions that the cluster was too busy for, and what came later for a document."""
        if not answer["errors"]:
            return []
        left: list[bytes] = []
        documents: set[tuple[str, str]] = set()
        for action, item in zip(batch, answer["items"], strict=True):
            ((kind, said),) = item.items()
            document = _document_of(action)
            if said["status"] in _BUSY or document in documents:
                # Sent again alone, an earlier action would undo a later one.
                left.append(action)
                if document is not None:
                    documents.add(document)
            elif said["status"] >= 300 and (kind, said["status"]) != _GONE:
                raise BatchRefusedError(
                    f"Elasticsearch refused a document: {said.get('error')}; it is {action!r}"
                )
        return left

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None


def _document_of(action: bytes) -> tuple[str, str] | None:
    """The index and the id of an action's document; None if the cluster makes the id."""
    (about,) = json.loads(action.partition(b"\n")[0]).values()
    return (about["_index"], about["_id"]) if "_id" in about else None
