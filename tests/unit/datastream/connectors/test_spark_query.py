"""Partitions of a table that Spark reads: given out in order, and the same after a restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.datastream.connectors.base import SplitEnumerator
from headrace.datastream.connectors.fed_split import FedSplit
from headrace.datastream.connectors.spark_query import (
    ParquetFiles,
    RowNumbers,
    SparkQuery,
)
from headrace.datastream.connectors.spark_query_source import SparkQuerySource
from headrace.spark import query_feed


class Feed:
    """Stands for Spark: one partition for each file."""

    def __init__(self, query: SparkQuery, inputs: dict[str, Any]) -> None:
        self.inputs = inputs

    @property
    def partitions(self) -> int:
        return self.inputs.get("partitions") or len(self.inputs["files"])

    def split(self, number: int) -> FedSplit:
        return FedSplit(str(number), None, number)


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_feed, "QueryFeed", Feed)


def enumerator(table: ParquetFiles | RowNumbers, parallelism: int = 2) -> SplitEnumerator:
    source = SparkQuerySource(SparkQuery(table, (), (), ()), b"", list)
    return source.create_enumerator(parallelism)


def given(found: dict[int, list[Any]]) -> dict[int, list[int]]:
    return {subtask: [split.part for split in splits] for subtask, splits in found.items()}


def files(folder: Path, count: int) -> ParquetFiles:
    for number in range(count):
        (folder / f"{number}.parquet").write_bytes(b"x" * 3_000_000)
    return ParquetFiles(str(folder), (), ())


def test_the_first_epoch_has_what_a_subtask_can_read_at_once(tmp_path: Path) -> None:
    found = given(enumerator(files(tmp_path, 5)).discover(0))
    assert found == {0: [0, 2, 4], 1: [1, 3]}


def test_a_restored_job_reads_the_files_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.datastream.connectors.spark_query._FIRST_BYTES", 1)
    table = files(tmp_path, 5)
    first = enumerator(table)
    assert given(first.discover(0)) == {0: [0], 1: [1]}
    snapshot = first.snapshot()
    (tmp_path / "a-new-one.parquet").write_bytes(b"x")
    restored = enumerator(table, parallelism=3)
    restored.restore(snapshot)
    assert given(restored.discover(0)) == {0: [2], 1: [3], 2: [4]}
    assert restored.finished


def test_numbers_are_cut_for_all_subtasks() -> None:
    assert RowNumbers(3_000_000, ()).cut(2) == {"partitions": 4, "rows": 3_000_000}
    assert RowNumbers(3, ()).cut(2)["partitions"] == 2
    assert RowNumbers(0, ()).cut(1)["partitions"] == 1
