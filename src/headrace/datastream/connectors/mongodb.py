"""MongoDB as a sink and a bounded source. It needs pymongo: `pip install 'headrace[mongodb]'`.

PyFlink has no connector for MongoDB; names are those of Flink's connector for Java. A sink writes
at least once: where documents replace each other by their `_id`, the result is the same as if each
had come once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError, shorten_repr
from headrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from headrace.common.types import Row
from headrace.datastream.connectors.base import (
    DeliveryGuarantee,
    ReadBatch,
    ReaderContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
    WriterContext,
)
from headrace.datastream.connectors.batched_writer import (
    BatchedWriter,
    BatchLimits,
    BatchRefusedError,
    Retries,
)
from headrace.datastream.connectors.client_library import client_library

__all__ = [
    "MongoSerializationSchema",
    "MongoSink",
    "MongoSinkBuilder",
    "MongoSource",
    "MongoSourceBuilder",
]

_PROBE_MS = 5_000
_DUPLICATE = 11_000
_ANSWER_MS = 60_000
B = TypeVar("B", bound="_Builder")


class MongoSerializationSchema:
    """Says what is written for a record. Subclasses implement `serialize` and are picklable."""

    def open(self) -> None:
        """Called once in the process of the sink, before the first record."""

    def serialize(self, element: Any) -> Any:
        """An operation of pymongo, such as `ReplaceOne(...)` or `DeleteOne(...)`; None for none."""
        raise NotImplementedError(f"{type(self).__name__} does not implement serialize()")


@dataclass(frozen=True)
class _Documents(MongoSerializationSchema):
    """Writes what a function makes of a record: by its `_id` if it has one."""

    of: Callable[[Any], Any] | None = None

    def serialize(self, element: Any) -> Any:
        pymongo = _pymongo()
        document = _document(element if self.of is None else self.of(element))
        if "_id" not in document:
            return pymongo.InsertOne(document)
        return pymongo.ReplaceOne({"_id": document["_id"]}, document, upsert=True)


def _document(record: Any) -> dict[str, Any]:
    if isinstance(record, Row):
        record = record.as_dict(True)
    if not isinstance(record, Mapping):
        raise FunctionTypeError(
            f"a document is a dict, or a row with names of fields, not {shorten_repr(record)}; map "
            "the stream to dicts, or give set_serialization_schema() a function that does"
        )
    return {name: _value(value) for name, value in record.items()}


def _value(value: Any) -> Any:
    """A value as BSON has it."""
    if isinstance(value, Row | Mapping):
        return _document(value)
    if isinstance(value, list | tuple):
        return [_value(v) for v in value]
    if isinstance(value, Decimal):
        return client_library("bson.decimal128", "pymongo", "mongodb").Decimal128(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.time):
        return value.isoformat()
    return value


def _pymongo() -> Any:
    return client_library("pymongo", "pymongo", "mongodb")


@dataclass(frozen=True)
class _Collection:
    """Where documents are."""

    uri: str = field(default="", repr=False)
    database: str = ""
    collection: str = ""

    def client(self, **more: Any) -> Any:
        # Without one, a server that does not answer keeps a job waiting forever.
        if "sockettimeoutms" not in self.uri.lower():
            more["socketTimeoutMS"] = _ANSWER_MS
        return _pymongo().MongoClient(self.uri, **more)

    def of(self, client: Any) -> Any:
        return client[self.database][self.collection]

    def probe(self) -> str:
        client = self.client(serverSelectionTimeoutMS=_PROBE_MS)
        try:
            client[self.database].command("ping")
        except _pymongo().errors.PyMongoError as error:
            raise self.away(error) from error
        finally:
            client.close()
        return f"MongoDB at {self.place}"

    def away(self, error: Exception) -> HeadraceError:
        return HeadraceError(
            f"MongoDB at {self.place} does not answer: {error}; see whether it runs there, and "
            "whether user and password are right"
        )

    @property
    def place(self) -> str:
        """The hosts, without the password before them."""
        return self.uri.split("://", 1)[-1].rsplit("@", 1)[-1].split("/")[0]


class _Builder:
    """The methods that both builders share."""

    def __init__(self) -> None:
        self._collection = _Collection()

    def set_uri(self: B, uri: str) -> B:
        """Set the server: `mongodb://user:password@host:27017`."""
        if not isinstance(uri, str) or not uri.startswith(("mongodb://", "mongodb+srv://")):
            raise GraphError("set_uri takes a URI that begins with mongodb:// or mongodb+srv://")
        self._collection = replace(self._collection, uri=uri)
        return self

    def set_database(self: B, database: str) -> B:
        """Set the database."""
        self._collection = replace(self._collection, database=database)
        return self

    def set_collection(self: B, collection: str) -> B:
        """Set the collection."""
        self._collection = replace(self._collection, collection=collection)
        return self

    def _checked(self, who: str) -> _Collection:
        _pymongo()
        for name in ("uri", "database", "collection"):
            if not getattr(self._collection, name):
                raise GraphError(f"{who} needs set_{name}()")
        return self._collection


def _whole(value: Any, least: int, method: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GraphError(f"{method} takes an int of at least {least}, not {value!r}")
    return value


# The sink.


@dataclass(frozen=True)
class MongoSink(Sink):
    """Writes documents, at least once. Make one with `builder()`.

    Example:
        >>> sink = (
        ...     MongoSink.builder()
        ...     .set_uri("mongodb://localhost:27017")
        ...     .set_database("shop")
        ...     .set_collection("orders")
        ...     .set_serialization_schema(lambda order: {"_id": order[0], "amount": order[1]})
        ...     .build()
        ... )
        >>> stream.sink_to(sink)
    """

    collection: _Collection
    schema: MongoSerializationSchema
    batch_size: int = 1_000
    retries: Retries = Retries(3, 1.0, 1.0)  # noqa: RUF009 - it cannot change

    @staticmethod
    def builder() -> MongoSinkBuilder:
        """Describe a sink step by step."""
        return MongoSinkBuilder()

    def probe(self) -> str:
        return self.collection.probe()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _MongoWriter(self)


class MongoSinkBuilder(_Builder):
    """Describes a `MongoSink` step by step; URI, database and collection have to be set."""

    def __init__(self) -> None:
        super().__init__()
        self._schema: MongoSerializationSchema = _Documents()
        self._batch_size = 1_000
        self._retries = Retries(3, 1.0, 1.0)

    def set_serialization_schema(
        self, serialization_schema: MongoSerializationSchema | Callable[[Any], Any]
    ) -> MongoSinkBuilder:
        """Set what is written for a record; without it records are the documents.

        Args:
            serialization_schema: A schema that gives operations of pymongo, or a function that
                gives a document. One with an `_id` replaces the one that has it.
        """
        if isinstance(serialization_schema, MongoSerializationSchema):
            self._schema = serialization_schema
        elif callable(serialization_schema):
            self._schema = _Documents(serialization_schema)
        else:
            raise FunctionTypeError(
                "set_serialization_schema takes a MongoSerializationSchema or a function that "
                f"makes a dict of a record, not {serialization_schema!r}"
            )
        return self

    def set_batch_size(self, batch_size: int) -> MongoSinkBuilder:
        """Set how many operations go to the server together."""
        self._batch_size = _whole(batch_size, 1, "set_batch_size")
        return self

    def set_batch_interval_ms(self, batch_interval_ms: int) -> MongoSinkBuilder:
        """Accepted as in Flink; what an epoch has left is written at its end."""
        return self

    def set_max_retries(self, max_retries: int) -> MongoSinkBuilder:
        """Set how often a batch is sent again for which the server was away."""
        times = _whole(max_retries, 0, "set_max_retries")
        self._retries = replace(self._retries, times=times)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> MongoSinkBuilder:
        """Every record is written at least once; exactly once is refused, as in Flink."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise GraphError(
                "a MongoSink writes at least once; where documents have an _id this gives the same "
                "documents as exactly once, so choose AT_LEAST_ONCE"
            )
        return self

    def build(self) -> MongoSink:
        """The sink."""
        collection = self._checked("a MongoSink")
        return MongoSink(collection, self._schema, self._batch_size, self._retries)


class _MongoWriter(BatchedWriter):
    """Operations of a batch are done in their order."""

    def __init__(self, sink: MongoSink) -> None:
        super().__init__(BatchLimits(sink.batch_size), sink.retries)
        self._sink = sink
        self._client: Any = None
        self._sent_before = False

    def open(self) -> None:
        self._sink.schema.open()
        self._refusal = _pymongo().errors.BulkWriteError
        self._client = self._sink.collection.client()
        self._collection = self._sink.collection.of(self._client)

    def encode(self, values: list[Any]) -> list[Any]:
        made = map(self._sink.schema.serialize, values)
        return [operation for operation in made if operation is not None]

    def reconnect(self) -> None:
        self._sent_before = True

    def send(self, batch: Sequence[Any]) -> Sequence[Any]:
        left = list(batch)
        while left:
            try:
                self._collection.bulk_write(left)
                break
            except self._refusal as error:
                refused = (error.details or {}).get("writeErrors", [])[:1]
                if not refused or not self._is_there(refused[0]):
                    raise BatchRefusedError(
                        f"MongoDB refused a document: {refused or error}"
                    ) from error
                left = left[refused[0]["index"] + 1 :]
        self._sent_before = False
        return ()

    def _is_there(self, refused: Mapping[str, Any]) -> bool:
        """Whether a try that failed half-way has inserted a document, whose `_id` is our own."""
        return (
            self._sent_before
            and isinstance(self._sink.schema, _Documents)
            and refused.get("code") == _DUPLICATE
            and refused.get("keyPattern", {"_id": 1}) == {"_id": 1}
        )

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


# The source.


@dataclass(frozen=True)
class MongoSource(Source):
    """Reads the documents of a collection that are there, exactly once. Make one with `builder()`.

    A document is a dict with its `_id`. The collection is read in the order of its `_id`, which
    checkpoints have as the position, so one reader reads it.
    """

    collection: _Collection
    filter: dict[str, Any]
    projection: tuple[str, ...] | None
    fetch_size: int
    limit: int

    @staticmethod
    def builder() -> MongoSourceBuilder:
        """Describe a source step by step."""
        return MongoSourceBuilder()

    @property
    def bounded(self) -> bool:
        return True

    @property
    def max_parallel_readers(self) -> int | None:
        return 1

    @property
    def produced_type(self) -> TypeInformation:
        return PickledBytesTypeInfo()

    def probe(self) -> str:
        return self.collection.probe()

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([DocumentSplit()], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _DocumentReader(self)


class MongoSourceBuilder(_Builder):
    """Describes a `MongoSource` step by step; URI, database and collection have to be set."""

    def __init__(self) -> None:
        super().__init__()
        self._filter: dict[str, Any] = {}
        self._projection: tuple[str, ...] | None = None
        self._fetch_size = 2_048
        self._limit = 0

    def set_filter(self, filter: Mapping[str, Any]) -> MongoSourceBuilder:
        """Set which documents are read, as `find` of pymongo takes it."""
        self._filter = dict(filter)
        return self

    def set_projected_fields(self, *projected_fields: str) -> MongoSourceBuilder:
        """Set which fields are read; the `_id` always is."""
        self._projection = projected_fields
        return self

    def set_fetch_size(self, fetch_size: int) -> MongoSourceBuilder:
        """Set how many documents a request gets."""
        self._fetch_size = _whole(fetch_size, 1, "set_fetch_size")
        return self

    def set_limit(self, limit: int) -> MongoSourceBuilder:
        """Set how many documents are read; -1 for all."""
        self._limit = max(_whole(limit, -1, "set_limit"), 0)
        return self

    def build(self) -> MongoSource:
        """The source."""
        return MongoSource(
            self._checked("a MongoSource"),
            self._filter,
            self._projection,
            self._fetch_size,
            self._limit,
        )


@dataclass(frozen=True)
class DocumentSplit:
    """A collection, and how far it was read.

    Attributes:
        count: How many documents were read.
        last: The `_id` of the last one, in a tuple.
    """

    count: int = 0
    last: tuple[Any, ...] = ()
    split_id: str = "documents"


def _require_one_kind(ids: Sequence[Any]) -> None:
    """Refuse what a restore would lose: MongoDB finds only ids of its own type behind an id."""
    kinds = {"number" if isinstance(i, int | float) else type(i).__name__ for i in ids}
    if len(kinds) > 1:
        raise HeadraceError(
            f"the collection has an _id of more than one type ({', '.join(sorted(kinds))}): read "
            'each by a source of its own, with set_filter({"_id": {"$type": ...}})'
        )


class _DocumentReader(SourceReader):
    def __init__(self, source: MongoSource) -> None:
        self._source = source
        self._client: Any = None
        self._cursor: Any = None
        self._split: DocumentSplit | None = None
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[DocumentSplit]) -> None:
        for split in splits:
            self._split = split
            self._client = self._source.collection.client()
            self._cursor = self._found(split)

    def _found(self, split: DocumentSplit) -> Any:
        source = self._source
        wanted = dict(source.filter)
        if split.last:
            wanted = {"$and": [wanted, {"_id": {"$gt": split.last[0]}}]}
        left = source.limit - split.count
        if source.limit and left <= 0:
            return iter(())
        found = source.collection.of(self._client).find(
            wanted, source.projection, batch_size=source.fetch_size, limit=max(left, 0)
        )
        return found.sort("_id", 1)

    def poll(self, max_records: int) -> ReadBatch | None:
        if self._split is None:
            return None
        documents = []
        try:
            for document in self._cursor:
                documents.append(document)
                if len(documents) == min(max_records, self._source.fetch_size):
                    break
        except _pymongo().errors.PyMongoError as error:
            raise self._source.collection.away(error) from error
        split_id = self._split.split_id
        if documents:
            _require_one_kind([*self._split.last, documents[0]["_id"], documents[-1]["_id"]])
            count = self._split.count + len(documents)
            self._split = DocumentSplit(count, (documents[-1]["_id"],))
        else:
            self._finished.append(split_id)
            self._split = None
        return ReadBatch(split_id, documents)

    def snapshot(self) -> list[DocumentSplit]:
        return [] if self._split is None else [self._split]

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    @property
    def exhausted(self) -> bool:
        return self._split is None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
