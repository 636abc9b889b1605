"""Streams of the parts of a plan that Spark's JVM runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.columns_source import ColumnsSource
from headrace.datastream.connectors.spark_query import GroupBy, Relation, SparkQuery
from headrace.datastream.connectors.spark_query_source import SparkQuerySource
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.partitioning import KeyedColumns
from headrace.sql import types as t
from headrace.sql.connectors.streams import with_operator
from headrace.sql.operators.groups.specs import SegmentAggregateSpec
from headrace.sql.operators.ranking.specs import LocalRankSpec, SegmentRankSpec
from headrace.sql.physical.nodes import SparkAggregate, SparkColumns, SparkRank, SparkRows
from headrace.sql.segments.columns import (
    KeyedRowsOfColumns,
    KeysOfColumns,
    RowsOfColumns,
    arrow_schema,
)
from headrace.sql.segments.expressions import column_name, storage
from headrace.sql.segments.segment import LocalPhase, LocalRanking, Segment, Where
from headrace.sql.types import DataType

__all__ = ["accumulators", "by_key", "columns", "query_of", "ranked", "rows"]


def rows(env: StreamExecutionEnvironment, node: SparkRows) -> DataStream[Any]:
    """Rows as tuples, in which only the segment's columns are set."""
    segment = node.segment
    return _stream(env, segment, RowsOfColumns(len(node.schema), segment.columns))


def columns(env: StreamExecutionEnvironment, node: SparkColumns) -> DataStream[Any]:
    """Arrow batches of internal values."""
    return _stream(env, node.segment)


def by_key(node: SparkColumns | SparkRank, key: tuple[int, ...]) -> KeyedColumns:
    """How such batches are exchanged by columns of the rows that they stand for."""
    chosen = node.segment.columns
    keys = KeysOfColumns(tuple(chosen.index(k) for k in key))
    decode = KeyedRowsOfColumns(RowsOfColumns(len(node.schema), chosen), keys)
    return KeyedColumns(itemgetter(*key), keys, decode)


def accumulators(env: StreamExecutionEnvironment, node: SparkAggregate) -> DataStream[Any]:
    """Keys with accumulators, and with the ends of slices where there are windows."""
    segment, local = node.segment, node.segment.local
    assert isinstance(local, LocalPhase)
    windows = local.slice_end is not None
    big = t.BigIntType()
    keys = tuple(map(column_name, local.keys))
    texts = [place.text for place in local.places]
    types: list[DataType] = [f.type for f in local.key_fields]
    if local.slice_end is not None:
        keys, types = (*keys, local.slice_end), [*types, big]
    types += [place.type for place in local.places]
    if windows:
        texts.append(f"max({local.watermark})")
        types.append(big)
    query = _query(segment, (), types, GroupBy(keys, tuple(texts)))
    source = _source(segment, query, types)
    places = local.places if local.gap is None else local.places[:-2]
    empty = tuple(place.empty for place in places)
    spec = SegmentAggregateSpec(len(local.keys), empty, windows, local.gap)
    return with_operator(_read(env, source), spec.kind, spec)


def ranked(
    env: StreamExecutionEnvironment, node: SparkRank, rank: LocalRankSpec
) -> DataStream[Any]:
    """The first rows of each key, as columns where they go by key; few become rows at all."""
    segment, local = node.segment, node.segment.local
    assert isinstance(local, LocalRanking)
    columns = segment.columns
    types = _types(segment)
    outputs = tuple(map(column_name, columns))
    if local.watermark is not None:
        types.append(t.BigIntType())
        outputs = (*outputs, local.watermark)
    source = _source(segment, _query(segment, outputs, types), types)
    place = {column: i for i, column in enumerate(columns)}
    spec = SegmentRankSpec(
        rank,
        len(node.schema),
        columns,
        tuple(place[k] for k in rank.key),
        tuple((place[i], descending, nulls) for i, descending, nulls in rank.order),
        local.watermark is not None,
    )
    return with_operator(_read(env, source), spec.kind, spec)


def _stream(
    env: StreamExecutionEnvironment,
    segment: Segment,
    records: Callable[[Any], list[Any]] | None = None,
) -> DataStream[Any]:
    return _read(env, _source(segment, query_of(segment), _types(segment), records))


def _source(
    segment: Segment,
    query: SparkQuery,
    types: Sequence[DataType],
    records: Callable[[Any], list[Any]] | None = None,
) -> SparkQuerySource | ColumnsSource:
    """What reads a segment: Arrow if it can, or else Spark."""
    reading = segment.reading
    if reading is None:
        return SparkQuerySource(query, arrow_schema(types), records)
    return ColumnsSource(segment.scan, reading.names, reading, records, reading.modules)


def query_of(segment: Segment) -> SparkQuery:
    """What Spark runs for the columns of a segment."""
    return _query(segment, tuple(map(column_name, segment.columns)), _types(segment))


def _types(segment: Segment) -> list[DataType]:
    return [segment.nodes[-1].schema[i].type for i in segment.columns]


def _query(
    segment: Segment,
    outputs: tuple[str, ...],
    types: Sequence[DataType],
    group_by: GroupBy | None = None,
) -> SparkQuery:
    steps = tuple(s.text if isinstance(s, Where) else s.texts for s in segment.steps)
    return SparkQuery(segment.scan, steps, outputs, tuple(map(storage, types)), group_by)


def _read(
    env: StreamExecutionEnvironment, source: SparkQuerySource | ColumnsSource
) -> DataStream[Any]:
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "Source: Spark")
    table = source.query.table if isinstance(source, SparkQuerySource) else None
    if isinstance(table, Relation) and table.ordered:
        stream.set_parallelism(1)
    return stream
