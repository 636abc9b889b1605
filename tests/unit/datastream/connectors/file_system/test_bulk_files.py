"""File sinks in bulk formats, and disks that do not take what is written."""

from __future__ import annotations

import os
import pickle
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    CheckpointRollingPolicy,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from headrace.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema
from headrace.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from headrace.datastream.formats.parquet import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import collect, run_in_process
from tests.unit.datastream.connectors.reading import FakeWriterContext, drain, opened

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
AVRO = AvroSchema.parse_string(
    '{"type": "record", "name": "R", "fields": '
    '[{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}'
)
CSV = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
FACTORIES = {
    "parquet": (ParquetBulkWriters.for_row_type(ROW), ParquetColumnarRowInputFormat(ROW)),
    "orc": (OrcBulkWriters.for_row_type(ROW), OrcColumnarRowInputFormat(ROW)),
    "avro": (AvroBulkWriters.for_generic_record(AVRO), AvroInputFormat("", AVRO)),
    "csv": (CsvBulkWriters.for_schema(CSV), CsvReaderFormat.for_schema(CSV)),
}


@pytest.fixture(params=list(FACTORIES))
def bulk(request: pytest.FixtureRequest) -> Any:
    return FACTORIES[request.param]


def rows(*numbers: int) -> list[Row]:
    return [Row(id=n, name=f"n{n}") for n in numbers]


def sink(path: Path, factory: Any, policy: RollingPolicy | None = None) -> FileSink:
    builder = FileSink.for_bulk_format(str(path), factory).with_bucket_assigner(
        BucketAssigner.base_path_bucket_assigner()
    )
    return (builder.with_rolling_policy(policy) if policy else builder).build()


def context(checkpointing: bool = True, **more: Any) -> FakeWriterContext:
    made = FakeWriterContext()
    made.checkpointing = checkpointing
    for name, value in more.items():
        setattr(made, name, value)
    return made


def writer(file_sink: FileSink, made: FakeWriterContext) -> Any:
    opened_writer = pickle.loads(pickle.dumps(file_sink)).create_writer(made)
    opened_writer.open()
    return opened_writer


def read(path: Path, file_format: Any) -> list[Any]:
    make = (
        FileSource.for_record_stream_format
        if isinstance(file_format, StreamFormat)
        else FileSource.for_bulk_file_format
    )
    values = drain(opened(make(file_format, str(path)).build()))
    return sorted(v["id"] for v in values)


def commit(file_sink: FileSink, committables: list[Any]) -> None:
    committer = file_sink.create_committer(FakeWriterContext())
    assert committer is not None
    committer.commit(pickle.loads(pickle.dumps(committables)))


def test_files_are_seen_when_their_checkpoint_is_committed(bulk: Any, tmp_path: Path) -> None:
    factory, file_format = bulk
    out = sink(tmp_path, factory)
    made = writer(out, context())
    made.write(rows(1, 2), None)
    made.flush(False)
    first = made.prepare_commit(1, False)
    made.snapshot()
    made.write(rows(3), None)
    made.flush(True)
    second = made.prepare_commit(2, True)
    assert read(tmp_path, file_format) == []
    commit(out, first)
    commit(out, first)
    assert read(tmp_path, file_format) == [1, 2]
    commit(out, second)
    assert read(tmp_path, file_format) == [1, 2, 3]
    made.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_failed_attempt_wrote_is_never_seen(bulk: Any, tmp_path: Path) -> None:
    factory, file_format = bulk
    out = sink(tmp_path, factory)
    failed = writer(out, context())
    failed.write(rows(1), None)
    committables = failed.prepare_commit(1, False)
    state = failed.snapshot()
    failed.write(rows(2), None)
    failed.close()
    assert read(tmp_path, file_format) == []
    commit(out, committables)
    restored = context(attempt=2, restored_checkpoint=1, restored_state=state)
    again = writer(out, restored)
    assert [p.name[0] for p in tmp_path.iterdir()] == ["p"]
    again.write(rows(2), None)
    commit(out, again.prepare_commit(2, True))
    assert read(tmp_path, file_format) == [1, 2]


def test_a_savepoint_of_a_job_without_checkpoints_has_the_open_file(tmp_path: Path) -> None:
    factory, file_format = FACTORIES["parquet"]
    out = sink(tmp_path, factory)
    made = writer(out, context(checkpointing=False))
    made.write(rows(1), None)
    assert made.prepare_commit(1, False) == []
    state = made.snapshot()
    again = writer(out, context(checkpointing=False, attempt=2, restored_state=state))
    commit(out, again.prepare_commit(2, False))
    assert read(tmp_path, file_format) == [1]
    commit(out, made.prepare_commit(2, True))
    assert read(tmp_path, file_format) == [1]


class EveryTwo(CheckpointRollingPolicy):
    """Counts by the position in the stream, which the elements tell."""

    def should_roll_on_event(self, part_file: Any, element: Any) -> bool:
        return bool(element["id"] % 2)

    def should_roll_on_processing_time(self, part_file: Any, current_time: int) -> bool:
        return False


def test_a_policy_of_ones_own_rolls_between_checkpoints(tmp_path: Path) -> None:
    out = sink(tmp_path, FACTORIES["csv"][0], EveryTwo())
    made = writer(out, context())
    made.write(rows(0, 1, 2, 3, 4), None)
    commit(out, made.prepare_commit(1, True))
    assert sorted(p.read_text() for p in tmp_path.iterdir()) == [
        "0,n0\n",
        "1,n1\n2,n2\n",
        "3,n3\n4,n4\n",
    ]


def test_a_program_writes_and_reads_files(bulk: Any, tmp_path: Path) -> None:
    factory, file_format = bulk
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection(rows(*range(100)), ROW).rebalance().map(lambda row: row, ROW)
    stream.sink_to(sink(tmp_path, factory))
    run_in_process(env, epoch_records=10)
    assert read(tmp_path, file_format) == list(range(100))


def test_json_lines_are_written_and_read(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    schema = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    out = FileSink.for_row_format(str(tmp_path), Encoder.schema_encoder(schema))
    names = OutputFileConfig.builder().with_part_suffix(".jsonl").build()
    env.from_collection(rows(1, 2), ROW).sink_to(
        out.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(names)
        .build()
    )
    run_in_process(env)
    (file,) = tmp_path.glob("*.jsonl")
    assert file.read_text() == '{"id":1,"name":"n1"}\n{"id":2,"name":"n2"}\n'
    reader = JsonRowDeserializationSchema.builder().type_info(ROW).build()
    lines = FileSource.for_record_stream_format(StreamFormat.line_format(reader), str(tmp_path))
    stream = env.from_source(lines.build(), WatermarkStrategy.no_watermarks(), "json")
    assert stream.get_type() == ROW
    assert collect(stream) == rows(1, 2)


def test_an_input_format_with_a_path(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection(rows(1, 2), ROW).sink_to(sink(tmp_path, FACTORIES["avro"][0]))
    run_in_process(env)
    records = collect(env.create_input(AvroInputFormat(str(tmp_path), AVRO)))
    assert records == [{"id": 1, "name": "n1"}, {"id": 2, "name": "n2"}]
    with pytest.raises(HeadraceError, match="AvroInputFormat"):
        env.create_input(FACTORIES["parquet"][1])


# Disks.


@pytest.fixture
def small_files() -> Iterator[None]:
    """The system refuses files of more than some kilobytes, as a full disk does."""
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, before)


def write_and_finish(made: Any, values: list[Any]) -> None:
    for _ in range(3):
        made.write(values, None)
        made.flush(False)
    made.prepare_commit(1, True)


def test_a_disk_that_takes_no_more_is_named(bulk: Any, tmp_path: Path, small_files: None) -> None:
    made = writer(sink(tmp_path, bulk[0]), context())
    many = [Row(id=i, name=os.urandom(100).hex()) for i in range(5_000)]
    with pytest.raises(HeadraceError, match=r"the file sink cannot write .*/part-.*too large"):
        write_and_finish(made, many)
    made.close()
    assert not [p for p in tmp_path.iterdir() if not p.name.startswith(".")]


def test_lines_that_do_not_fit_on_the_disk_are_named(tmp_path: Path, small_files: None) -> None:
    out = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    made = writer(out, context())
    with pytest.raises(HeadraceError, match="the file sink cannot write"):
        write_and_finish(made, ["x" * 300_000])
    made.close()


def test_a_directory_that_cannot_be_written_is_named(bulk: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = writer(sink(tmp_path / "file" / "below", bulk[0]), context())
    with pytest.raises(HeadraceError, match=r"the file sink cannot write to .*below"):
        made.write(rows(1), None)
    made.close()


def test_errors_while_building(tmp_path: Path) -> None:
    with pytest.raises(FunctionTypeError, match="BulkWriterFactory"):
        FileSink.for_bulk_format(str(tmp_path), Encoder.simple_string_encoder())
    builder = StreamingFileSink.for_bulk_format(str(tmp_path), FACTORIES["csv"][0])
    with pytest.raises(GraphError, match="CheckpointRollingPolicy"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    assert isinstance(builder.build(), StreamingFileSink)
