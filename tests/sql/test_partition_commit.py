"""When partitions of files are committed, and by what; and small files that are put together."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.sql.connectors.files.partition_commit import (
    PartitionCommitPolicy,
    PartitionCommitSettings,
    PartitionContext,
    PartitionTimeExtractor,
    PatternExtractor,
)
from tests.sql.sessions import LocalSession


class Telling(PartitionCommitPolicy):
    """Writes down what was complete, and which partitions were begun then."""

    def __init__(self, log: str, word: str) -> None:
        self._log = log
        self._word = word

    def commit(self, context: PartitionContext) -> None:
        path = Path(context.partition_path)
        begun = sorted(d.name for d in path.parent.iterdir())
        lines = sum(len(f.read_text().split()) for f in path.glob("part-*"))
        told = [self._word, context.table_name, *context.partition_values, lines, begun]
        with open(self._log, "a") as file:
            file.write(json.dumps(told) + "\n")


class Hours(PartitionTimeExtractor):
    """Hours of the first day of 1970."""

    def extract(
        self, partition_keys: tuple[str, ...], partition_values: tuple[str, ...]
    ) -> datetime.datetime:
        return datetime.datetime(1970, 1, 1, int(partition_values[0]))


def log_of(tmp_path: Path, options: str, **settings: Any) -> list[Any]:
    """What the policy was told while one row after the other was written."""
    rows = ["00:30", "00:40", "01:10", "01:20", "02:30", "03:20", "00:50"]
    source = tmp_path / "rows.csv"
    source.write_text("".join(f"1970-01-01 {r}:00\n" for r in rows))
    session = LocalSession()
    session.execute(
        "CREATE TABLE s (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{source}', 'format' = 'csv')"
    )
    session.execute(
        "CREATE TABLE t (n STRING, `hour` BIGINT) PARTITIONED BY (`hour`) WITH ("
        f"'connector' = 'filesystem', 'path' = '{tmp_path / 'out'}', 'format' = 'csv', "
        "'sink.partition-commit.policy.kind' = 'custom,success-file', "
        f"'sink.partition-commit.policy.class' = '{__name__}:Telling', "
        f"'sink.partition-commit.policy.class.parameters' = '{tmp_path / 'log'};done', "
        f"'sink.partition-commit.success-file.name' = '_COMPLETE' {options})"
    )
    session.insert(
        "INSERT INTO t SELECT DATE_FORMAT(ts, 'mm'), EXTRACT(HOUR FROM ts) FROM s", **settings
    )
    assert sorted(str(f.parent.name) for f in (tmp_path / "out").glob("*/_COMPLETE")) == [
        f"hour={h}" for h in range(4)
    ]
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]


BY_TIME = (
    ", 'sink.partition-commit.trigger' = 'partition-time', 'partition.time-extractor.kind' = "
    f"'custom', 'partition.time-extractor.class' = '{__name__}:Hours'"
)


def test_the_watermark_says_that_a_partition_is_complete(tmp_path: Path) -> None:
    delayed = BY_TIME + ", 'sink.partition-commit.delay' = '1 h'"
    told = log_of(tmp_path, delayed, epoch_records=1)
    assert [line[:4] for line in told[:3]] == [
        ["done", "t", "0", 2],
        ["done", "t", "1", 2],
        ["done", "t", "2", 1],
    ]
    # A late row makes its partition complete once more; the end completes the rest.
    assert sorted(line[:4] for line in told[3:]) == [["done", "t", "0", 3], ["done", "t", "3", 1]]
    assert told[0][4] == ["hour=0", "hour=1"]
    assert told[1][4] == ["hour=0", "hour=1", "hour=2"]


def test_a_partition_waits_for_its_delay_in_processing_time(tmp_path: Path) -> None:
    told = log_of(tmp_path, ", 'sink.partition-commit.delay' = '1 d'", epoch_records=1)
    assert sorted(line[2:4] for line in told) == [["0", 3], ["1", 2], ["2", 1], ["3", 1]]
    assert all(len(line[4]) == 4 for line in told)


def test_without_a_delay_each_commit_of_files_is_one(tmp_path: Path) -> None:
    told = log_of(tmp_path, "", epoch_records=2)
    assert [line[2:4] for line in told][:2] == [["0", 2], ["1", 2]]
    assert ["0", 3] in [line[2:4] for line in told]


@pytest.mark.parametrize(
    ("pattern", "formatter", "keys", "values", "expected"),
    [
        (None, None, ("dt",), ("2024-02-29",), datetime.datetime(2024, 2, 29)),
        (None, None, ("dt",), ("2024-02-29 07:08:09",), datetime.datetime(2024, 2, 29, 7, 8, 9)),
        (
            "$dt $h:00:00",
            None,
            ("dt", "h"),
            ("2024-02-29", "07"),
            datetime.datetime(2024, 2, 29, 7),
        ),
        ("$h$hour", "yyyyMMddHH", ("h", "hour"), ("20240229", "07"), None),
        ("$dt", "yyyyMMdd", ("dt",), ("20240229",), datetime.datetime(2024, 2, 29)),
    ],
)
def test_times_of_partitions(
    pattern: str | None,
    formatter: str | None,
    keys: tuple[str, ...],
    values: tuple[str, ...],
    expected: datetime.datetime | None,
) -> None:
    found = PatternExtractor(pattern, formatter).extract(keys, values)
    assert found == (expected or datetime.datetime(2024, 2, 29, 7))


def test_a_value_that_is_no_time_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(HeadraceError, match="timestamp-pattern"):
        PatternExtractor().extract(("city",), ("Berlin",))


def test_times_of_partitions_are_those_of_a_zone() -> None:
    settings = PartitionCommitSettings(
        ("c", "d", "t"), ("dt",), ("success-file",), by_watermark=True, zone="Asia/Shanghai"
    )
    midnight = int(datetime.datetime(2024, 2, 28, 16, tzinfo=datetime.UTC).timestamp() * 1000)
    assert not settings.is_due("dt=2024-02-29", 0, 0, midnight)
    assert settings.is_due("dt=2024-02-29", 0, 0, midnight + 1)


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "orc", "avro"])
def test_small_files_are_put_together(tmp_path: Path, format_: str) -> None:
    columns = "n INT, name STRING"
    options = "'auto-compaction' = 'true', 'compaction.file-size' = '1 mb', "
    session = LocalSession()
    source = tmp_path / "rows.csv"
    source.write_text("".join(f"{i},n{i}\n" for i in range(20)))
    for name, path, more in (("s", source, ""), ("t", tmp_path / "out", options)):
        kind = "csv" if name == "s" else format_
        session.execute(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', {more}"
            f"'sink.rolling-policy.file-size' = '1 b', 'path' = '{path}', 'format' = '{kind}')"
        )
    session.insert("INSERT INTO t SELECT * FROM s", epoch_records=4)
    files = [f.name for f in (tmp_path / "out").iterdir()]
    assert all(name.startswith("compacted-") for name in files)
    assert len(files) <= 2
    rows = sorted(tuple(r) for _, r in session.query("SELECT * FROM t").rows)
    assert rows == [(i, f"n{i}") for i in range(20)]
