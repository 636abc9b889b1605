"""SQL over CSV and JSON: of files against Flink SQL and Pathway, of Kafka against Flink SQL."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import text_queries
from benchmarks.cases import Settings
from benchmarks.kafka import PARTITIONS, Topics, connector_jar
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.peers import environments as peers
from benchmarks.sql import FlinkSession, compared, headrace_session

FILES = 8
PATHWAY_THREADS = 2


def lines(rows: int) -> Iterator[tuple[str, str]]:
    """Rows as lines of CSV and of JSON; the header that Pathway wants is not among them."""
    for i in range(rows):
        k, v = i * 7919 % text_queries.KEYS, i * 31 % 10_000
        amount, item = i * 13 % 1000 / 1000, f"item {i % 500}"
        yield (
            f"{k},{v},{amount},{item}",
            f'{{"k": {k}, "v": {v}, "amount": {amount}, "item": "{item}"}}',
        )


def write_files(folder: str, rows: int) -> None:
    """The same rows as CSV, as CSV with a line of names, and as JSON."""
    for format_ in ("csv", "json", "headed"):
        Path(folder, format_).mkdir()
    for number in range(FILES):
        pairs = list(lines(rows // FILES))
        csv, json = ("\n".join(column) + "\n" for column in zip(*pairs, strict=True))
        Path(folder, "csv", f"part-{number}.csv").write_text(csv)
        Path(folder, "headed", f"part-{number}.csv").write_text("k,v,amount,item\n" + csv)
        Path(folder, "json", f"part-{number}.json").write_text(json)


def text(settings: Settings) -> Iterator[Result]:
    """Statements over CSV and JSON files against Flink SQL and Pathway."""
    rows = settings.records(3_000_000) // FILES * FILES
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, rows)
        t_env = headrace_session(text_queries.declarations(folder, rows, rows))
        python = peers.peer_python("pyflink", settings.pyflink_python)
        arguments = [text_queries.__file__, folder, str(rows), str(rows), ""]
        with FlinkSession(python, arguments) as flink:
            for format_ in ("csv", "json"):
                for name, query in (
                    ("group aggregate", text_queries.GROUPS),
                    ("filter and projection", text_queries.LARGE),
                ):
                    statement = query.format(table=format_)
                    label = f"SQL, {format_.upper()} files: {name}"
                    yield from compared(t_env, flink, label, (statement, rows), None, settings, 1.5)
        for format_ in ("csv", "json"):
            yield _against_pathway(settings, t_env, folder, format_, rows)


def _against_pathway(
    settings: Settings, t_env: Any, folder: str, format_: str, rows: int
) -> Result:
    python = peers.peer_python("pathway", settings.pathway_python)
    place = f"{folder}/headed" if format_ == "csv" else f"{folder}/json"
    statement = text_queries.GROUPS.format(table=format_)
    mine, other = alternate(
        lambda: rows / timed(lambda: t_env.execute_sql(statement).wait()),
        lambda: rows / peers.pathway_seconds(python, format_, place, PATHWAY_THREADS),
        settings.rounds,
    )
    return Result(
        name=f"SQL, {format_.upper()} files: group aggregate",
        peer=f"Pathway {peers.version(python, 'pathway')}",
        unit="rows/s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=1.5,
        samples={"headrace": mine, "pathway": other, "rows": rows},
    )


def kafka_json(settings: Settings) -> Iterator[Result]:
    """A group aggregate over JSON in Kafka against Flink SQL."""
    try:
        from tools.kafka_broker import KafkaUnavailableError, running_broker
    except ImportError as error:
        raise peers.PeerUnavailableError(str(error)) from error
    rows = settings.records(1_000_000)
    try:
        with running_broker(fast_start=False) as broker:
            topics = Topics(broker.bootstrap_servers)
            messages = (json.encode() for _, json in lines(rows))
            place = f"kafka:{topics.servers}/{topics.filled_with(messages)}"
            t_env = headrace_session(text_queries.declarations(place, rows, rows))
            python = peers.peer_python("pyflink", settings.pyflink_python)
            jar = f"file://{connector_jar()}"
            arguments = [text_queries.__file__, place, str(rows), str(rows), jar]
            with FlinkSession(python, arguments) as flink:
                statement = text_queries.GROUPS.format(table="messages")
                label = f"SQL, Kafka JSON of {PARTITIONS} partitions: group aggregate"
                yield from compared(t_env, flink, label, (statement, rows), None, settings, 1.0)
    except KafkaUnavailableError as error:
        raise peers.PeerUnavailableError(str(error)) from error


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "text": text,
    "kafka-json": kafka_json,
}
