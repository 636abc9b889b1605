from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
    StreamingFileSink,
)
from headrace.datastream.connectors.file_system.file_writer import FileCommitter, FileWriter
from tests.unit.datastream.connectors.reading import FakeWriterContext

# 2024-02-29 13:05:09 UTC
NOW = 1_709_211_909_000


def builder(path: Path) -> Any:
    return FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).with_bucket_assigner(
        BucketAssigner.base_path_bucket_assigner()
    )


def writer(sink: FileSink, context: FakeWriterContext | None = None) -> FileWriter:
    made = pickle.loads(pickle.dumps(sink)).create_writer(context or FakeWriterContext())
    made.open()
    return made


def end_epoch(sink: FileWriter, end_of_input: bool) -> None:
    """Flush and commit."""
    sink.flush(end_of_input)
    FileCommitter().commit(sink.prepare_commit(1, end_of_input))


def visible(path: Path) -> dict[str, str]:
    """Contents of finished files, by number."""
    found = {}
    for file in path.rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            name = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", file.name)
            found[str(file.parent.relative_to(path) / name)] = file.read_text()
    return found


def hidden(path: Path) -> list[str]:
    return [f.name for f in path.rglob(".*")]


def test_files_are_hidden_until_the_input_has_ended(tmp_path: Path) -> None:
    sink = writer(builder(tmp_path).build())
    sink.write(["a", 1, None], None)
    end_epoch(sink, False)
    assert visible(tmp_path) == {}
    (name,) = hidden(tmp_path)
    assert re.fullmatch(r"\.part-[0-9a-f-]{36}-0\.inprogress\.[0-9a-f-]{36}", name)
    sink.write(["b"], None)
    end_epoch(sink, True)
    assert visible(tmp_path) == {"part-ID-0": "a\n1\nNone\nb\n"}
    sink.close()
    assert hidden(tmp_path) == []


def test_a_subtask_without_records_writes_no_file(tmp_path: Path) -> None:
    sink = writer(builder(tmp_path).build())
    sink.write([], None)
    end_epoch(sink, True)
    sink.close()
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_fails_or_is_cancelled_shows_nothing_of_its_last_epoch(tmp_path: Path) -> None:
    sink = writer(builder(tmp_path).build())
    sink.write(["a"], None)
    sink.close()
    assert visible(tmp_path) == {}
    assert len(hidden(tmp_path)) == 1


def test_names_by_output_file_config(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("pre", ".txt")
    sink = writer(builder(tmp_path).with_output_file_config(config).build())
    sink.write(["a"], None)
    end_epoch(sink, True)
    assert visible(tmp_path) == {"pre-ID-0.txt": "a\n"}


@pytest.mark.parametrize("one_batch", [True, False])
def test_files_are_rolled_by_size_record_by_record(tmp_path: Path, one_batch: bool) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=9)
    sink = writer(builder(tmp_path).with_rolling_policy(policy).build())
    records = ["1234"] * 5
    for batch in [records] if one_batch else [[r] for r in records]:
        sink.write(batch, None)
    end_epoch(sink, False)
    # A file is rolled when it is larger than the size, which the second record makes it.
    assert visible(tmp_path) == {"part-ID-0": "1234\n1234\n", "part-ID-1": "1234\n1234\n"}
    end_epoch(sink, True)
    assert visible(tmp_path)["part-ID-2"] == "1234\n"


def test_files_are_rolled_by_age_and_inactivity_without_records(tmp_path: Path) -> None:
    context = FakeWriterContext(now=0)
    policy = RollingPolicy.default_rolling_policy(1000, 10_000, 4_000)
    described = builder(tmp_path).with_rolling_policy(policy).with_bucket_check_interval(100)
    sink = writer(described.build(), context)
    assert sink.flush_at(0) is None
    sink.write(["a"], None)
    end_epoch(sink, False)
    assert sink.flush_at(0) == 4000
    for context.now in (3000, 6000, 9000):
        sink.write(["b"], None)
        end_epoch(sink, False)
        assert visible(tmp_path) == {}
    assert sink.flush_at(9000) == 10_000
    context.now = 10_000
    end_epoch(sink, False)
    assert visible(tmp_path) == {"part-ID-0": "a\nb\nb\nb\n"}
    assert sink.flush_at(10_000) is None


def test_on_checkpoint_rolling_never_rolls_by_size_or_time(tmp_path: Path) -> None:
    context = FakeWriterContext()
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    sink = writer(builder(tmp_path).with_rolling_policy(policy).build(), context)
    sink.write(["a" * 1000] * 100, None)
    context.now = 10**9
    end_epoch(sink, False)
    assert visible(tmp_path) == {}
    assert sink.flush_at(0) is None
    assert policy.should_roll_on_checkpoint(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "zone", "expected"),
    [
        ("yyyy-MM-dd--HH", "UTC", "2024-02-29--13"),
        ("yyyy-MM-dd--HH", "Asia/Tokyo", "2024-02-29--22"),
        ("yy/M/d", "UTC", "24/2/29"),
        ("'day='yyyyMMdd'/at='HH_mm_ss", "UTC", "day=20240229/at=13_05_09"),
        ("D''hh a", "UTC", "60'01 PM"),
    ],
)
def test_buckets_by_time(tmp_path: Path, pattern: str, zone: str, expected: str) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner(pattern, zone)
    sink = writer(
        builder(tmp_path).with_bucket_assigner(assigner).build(), FakeWriterContext(now=NOW)
    )
    sink.write(["a"], None)
    end_epoch(sink, True)
    assert visible(tmp_path) == {f"{expected}/part-ID-0": "a\n"}


def test_buckets_by_hour_are_the_default(tmp_path: Path) -> None:
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    made = writer(sink, FakeWriterContext(now=NOW))
    made.write(["a"], None)
    end_epoch(made, True)
    (bucket,) = tmp_path.iterdir()
    assert re.fullmatch(r"2024-0[23]-\d\d--\d\d", bucket.name)


class ByFirstLetter(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return f"{element[0]}/{context.timestamp()}-{context.current_watermark()}"


def test_buckets_by_record(tmp_path: Path) -> None:
    sink = builder(tmp_path).with_bucket_assigner(ByFirstLetter()).build()
    made = FileWriter(sink.settings, FakeWriterContext())
    made.write(["a1", "b1", "a2"], [5, 5, 5])
    end_epoch(made, True)
    assert sorted(visible(tmp_path).values()) == ["a1\na2\n", "b1\n"]
    assert {Path(p).parent.as_posix() for p in visible(tmp_path)} == {"a/5-7", "b/5-7"}


class Outside(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return "../x"


def test_a_bucket_cannot_leave_the_base_path(tmp_path: Path) -> None:
    sink = builder(tmp_path).with_bucket_assigner(Outside()).build()
    with pytest.raises(HeadraceError, match="outside"):
        FileWriter(sink.settings, FakeWriterContext()).write(["a"], None)


class Hex(Encoder):
    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write(b"%x;" % element)


def test_an_encoder_of_the_user(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=4)
    sink = FileSink.for_row_format(str(tmp_path), Hex()).with_rolling_policy(policy).build()
    made = FileWriter(sink.settings, FakeWriterContext(now=NOW))
    made.write([10, 11, 255, 1], None)
    end_epoch(made, True)
    assert sorted(visible(tmp_path).values()) == ["1;", "a;b;ff;"]


def test_a_declared_type_is_written_as_flink_does(tmp_path: Path) -> None:
    sink = builder(tmp_path).build()
    typed = writer(sink.for_type(Types.TUPLE([Types.STRING(), Types.BOOLEAN()])))
    typed.write([("a", True)], None)
    end_epoch(typed, True)
    assert list(visible(tmp_path).values()) == ["(a,true)\n"]


def test_a_pending_file_can_be_finished_twice(tmp_path: Path) -> None:
    made = writer(builder(tmp_path).build())
    made.write(["a"], None)
    made._roll("")
    pending = pickle.loads(pickle.dumps(made.prepare_commit(1, False)))
    assert visible(tmp_path) == {}
    FileCommitter().commit(pending)
    FileCommitter().commit(pending)
    assert visible(tmp_path) == {"part-ID-0": "a\n"}
    (file,) = tmp_path.iterdir()
    file.unlink()
    with pytest.raises(HeadraceError, match="lost a file"):
        FileCommitter().commit(pending)


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadraceError, match="cannot write to"):
        writer(builder(tmp_path / "file").build()).write(["a"], None)


def test_the_older_name(tmp_path: Path) -> None:
    sink = (
        StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(1, 1, 1))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    assert isinstance(sink, StreamingFileSink)
    assert sink.get_transformer() is None


COMPACTION = FileCompactStrategy.builder().set_size_threshold(1).build()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: FileSink.for_row_format("/x", str), FunctionTypeError),  # type: ignore[arg-type]
        (lambda: FileSink.for_bulk_format("/x", None), HeadraceError),
        (lambda: StreamingFileSink.for_bulk_format("/x", None), HeadraceError),
        (lambda: builder(Path("/x")).with_rolling_policy(1), FunctionTypeError),
        (lambda: builder(Path("/x")).with_bucket_assigner("h"), FunctionTypeError),
        (lambda: builder(Path("/x")).with_output_file_config("h"), FunctionTypeError),
        (lambda: builder(Path("/x")).with_bucket_check_interval(0), GraphError),
        (lambda: builder(Path("/x")).enable_compact(COMPACTION, None), FunctionTypeError),
        (
            lambda: builder(Path("/x")).enable_compact(
                None, FileCompactor.concat_file_compactor(b"\n")
            ),
            FunctionTypeError,
        ),
        (lambda: RollingPolicy.default_rolling_policy(0), GraphError),
        (lambda: BucketAssigner.date_time_bucket_assigner("bb"), GraphError),
        (lambda: BucketAssigner.date_time_bucket_assigner("'yyyy"), GraphError),
        (lambda: BucketAssigner.date_time_bucket_assigner("yyyy", "Mars/Olympus"), GraphError),
        (lambda: OutputFileConfig("a/b", ""), GraphError),
        (lambda: FileCompactStrategy.builder().build(), GraphError),
    ],
)
def test_errors_while_building(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
