"""Keyed count of a Parquet table, read by Spark or by the file source, against a bare loop."""

from __future__ import annotations

import pickle
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks import programs
from benchmarks.bare import EMIT_EVERY
from benchmarks.cases import Settings, spark_context
from benchmarks.measure import Result, alternate, middle_ratio, timed
from headrace.common import Types, WatermarkStrategy
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.connectors.spark_source import SparkSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat

KEYS = 1_000
ROW = Types.ROW_NAMED(["key", "value"], [Types.LONG(), Types.LONG()])


def bare_count(session: Any, path: str, parallelism: int = 2) -> int:
    """Arrow batches into pickled columns for each subtask, a shuffle, and a dict there."""

    def split(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            targets: list[tuple[list[int], list[int]]] = [([], []) for _ in range(parallelism)]
            columns = (column.to_pylist() for column in batch.columns)
            for key, value in zip(*columns, strict=True):
                keys, values = targets[(key * 2654435761 >> 7) % parallelism]
                keys.append(key)
                values.append(value)
            payloads = [pickle.dumps(target, 5) for target in targets]
            yield pa.RecordBatch.from_pydict(
                {"subtask": list(range(parallelism)), "payload": payloads}
            )

    def count(batches: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        counts: dict[int, int] = {}
        emitted = 0
        for _, payload in batches:
            for key, _value in zip(*pickle.loads(payload), strict=True):
                now = counts.get(key, 0) + 1
                counts[key] = now
                if now % EMIT_EVERY == 0:
                    emitted += 1
        yield emitted

    frame = session.read.parquet(path).mapInArrow(split, "subtask long, payload binary")
    pairs = frame.rdd.map(lambda row: (row[0], bytes(row[1])))
    return sum(pairs.partitionBy(parallelism, lambda p: p).mapPartitions(count).collect())


def _outputs(stream: Any) -> int:
    counted = stream.key_by(lambda record: record[0], Types.LONG()).process(programs.Count())
    with counted.execute_and_collect("parquet count") as results:
        return sum(1 for _ in results)


def rows_by_spark(session: Any, path: str) -> int:
    """Rows of a DataFrame."""
    return _outputs(programs.environment().from_data_frame(session.read.parquet(path)))


def _pairs(batch: Any) -> list[Any]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def tuples_by_spark(session: Any, path: str) -> int:
    """Tuples of a DataFrame's columns, which is what the bare loop has."""
    source = SparkSource.of(session.read.parquet(path), records=_pairs)
    env = programs.environment()
    return _outputs(env.from_source(source, WatermarkStrategy.no_watermarks(), "table"))


def rows_by_file_source(session: Any, path: str) -> int:
    """Rows that the file source reads."""
    rows = ParquetColumnarRowInputFormat(ROW, batch_size=10_000)
    source = FileSource.for_bulk_file_format(rows, path).build()
    env = programs.environment()
    return _outputs(env.from_source(source, WatermarkStrategy.no_watermarks(), "files"))


WAYS: dict[str, Callable[[Any, str], int]] = {
    "tuples, read by Spark": tuples_by_spark,
    "rows, read by Spark": rows_by_spark,
    "rows, file source": rows_by_file_source,
}


def parquet(settings: Settings) -> Iterator[Result]:
    """Keyed count of a Parquet table against the bare loop."""
    from headrace.spark.session import get_or_create_session

    spark_context(settings)
    session = get_or_create_session({})
    records = settings.records(3_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table"
        table = session.range(0, records, 1, 4).selectExpr(f"id % {KEYS} as key", "id as value")
        table.write.parquet(path)
        expected = bare_count(session, path)
        for name, run in WAYS.items():

            def rate(run: Callable[[Any, str], int]) -> float:
                found = 0

                def counted() -> None:
                    nonlocal found
                    found = run(session, path)

                took = timed(counted)
                assert found == expected, f"{found} outputs instead of {expected}"
                return records / took

            mine, other = alternate(
                lambda run=run: rate(run), lambda: rate(bare_count), settings.rounds
            )
            yield Result(
                name=f"Parquet to keyed count: {name}",
                peer="bare loop",
                unit="records/s",
                ours=statistics.median(mine),
                theirs=statistics.median(other),
                ratio=middle_ratio(mine, other),
                goal=0.4,
                samples={"headrace": mine, "bare": other, "records": records},
            )


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {"parquet": parquet}
