"""Part files put together before they are seen."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import GraphError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from headrace.datastream.connectors.file_system.compaction import FileCompactStrategy as Strategy
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from tests.unit.datastream.connectors.reading import FakeWriterContext

CONCAT = FileCompactor.concat_file_compactor()


def builder(path: Path) -> Any:
    return (
        FileSink.for_row_format(str(path), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    )


def every(checkpoints: int) -> Strategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def writer(sink: FileSink, state: list[Any] | None = None, attempt: int = 1) -> Any:
    context = FakeWriterContext()
    context.checkpointing = True
    context.attempt = attempt
    if state is not None:
        context.restored_checkpoint = 1
        context.restored_state = pickle.loads(pickle.dumps(state))
    made = pickle.loads(pickle.dumps(sink)).create_writer(context)
    made.open()
    return made


def commit(sink: FileSink, committables: list[Any]) -> None:
    committer = sink.create_committer(FakeWriterContext())
    assert committer is not None
    committer.commit(pickle.loads(pickle.dumps(committables)))


def visible(path: Path) -> dict[str, str]:
    """Contents by the first word of the names."""
    files = [f for f in path.iterdir() if not f.name.startswith(".")]
    return {f.name.split("-")[0]: f.read_text() for f in files}


def hidden(path: Path) -> list[str]:
    return [f.name for f in path.iterdir() if f.name.startswith(".")]


def test_files_of_some_checkpoints_become_one(tmp_path: Path) -> None:
    sink = builder(tmp_path).enable_compact(every(2), CONCAT).build()
    made = writer(sink)
    made.write(["a"], None)
    assert made.prepare_commit(1, False) == []
    made.snapshot()
    made.write(["b"], None)
    ready = made.prepare_commit(2, False)
    assert visible(tmp_path) == {}
    commit(sink, ready)
    commit(sink, ready)
    assert visible(tmp_path) == {"compacted": "a\nb\n"}
    assert hidden(tmp_path) == []


def test_files_become_one_when_they_are_large_enough(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(5).build()
    delimiter = FileCompactor.concat_file_compactor(b"--\n")
    sink = builder(tmp_path).enable_compact(strategy, delimiter).build()
    made = writer(sink)
    for checkpoint, expected in ((1, 0), (2, 0), (3, 1)):
        made.write(["x"], None)
        ready = made.prepare_commit(checkpoint, False)
        assert len(ready) == expected
    commit(sink, ready)
    assert visible(tmp_path) == {"compacted": "x\n--\nx\n--\nx\n"}


def test_files_that_wait_survive_a_failure(tmp_path: Path) -> None:
    sink = builder(tmp_path).enable_compact(every(2), CONCAT).build()
    failed = writer(sink)
    failed.write(["a"], None)
    failed.prepare_commit(1, False)
    state = failed.snapshot()
    failed.write(["lost"], None)
    failed.prepare_commit(2, False)
    failed.close()
    again = writer(sink, state, attempt=2)
    again.write(["b"], None)
    commit(sink, again.prepare_commit(2, False))
    assert visible(tmp_path) == {"compacted": "a\nb\n"}
    assert hidden(tmp_path) == []


def test_what_was_put_together_for_no_checkpoint_is_deleted(tmp_path: Path) -> None:
    sink = builder(tmp_path).enable_compact(every(1), CONCAT).build()
    first = writer(sink)
    state = first.snapshot()
    first.write(["lost"], None)
    first.prepare_commit(2, False)
    first.close()
    assert len(hidden(tmp_path)) == 2
    again = writer(sink, state, attempt=2)
    assert hidden(tmp_path) == []
    again.write(["b"], None)
    commit(sink, again.prepare_commit(2, True))
    assert visible(tmp_path) == {"compacted": "b\n"}


def test_disabled_it_lets_out_what_waits(tmp_path: Path) -> None:
    made = writer(builder(tmp_path).enable_compact(every(5), CONCAT).build())
    made.write(["a"], None)
    made.prepare_commit(1, False)
    state = made.snapshot()
    sink = builder(tmp_path).enable_compact(every(5), CONCAT).disable_compact().build()
    again = writer(sink, state, attempt=2)
    commit(sink, again.prepare_commit(2, False))
    assert visible(tmp_path) == {"part": "a\n"}


def test_the_end_of_the_input_puts_the_rest_together(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = builder(tmp_path).enable_compact(every(100), CONCAT).build()
    env.from_collection(list(range(50)), Types.INT()).sink_to(sink)
    run_in_process(env, epoch_records=10)
    assert visible(tmp_path) == {"compacted": "".join(f"{i}\n" for i in range(50))}


def test_files_that_cannot_be_put_together_so_are_refused(tmp_path: Path) -> None:
    factory = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()]))
    bulk = FileSink.for_bulk_format(str(tmp_path), factory)
    with pytest.raises(GraphError, match="by concatenation"):
        bulk.enable_compact(every(1), CONCAT)
    bulk.enable_compact(every(1), FileCompactor.identical_file_compactor())
