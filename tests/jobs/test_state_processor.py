"""Savepoints as DataFrames: written, read, changed, and jobs that start from them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Row, Types
from headrace.common.errors import CheckpointError, FunctionTypeError, StateError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.print_sink import DiscardingSink
from headrace.datastream.functions import (
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.spark.session import get_or_create_session
from headrace.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
)
from tests.jobs.progress import wait_until_read

USERS = [(f"user-{n}", n, ["a", "b"][: n % 3]) for n in range(40)]


class Visits(KeyedProcessFunction):
    """Counts visits and remembers pages; a timer shows a user who was known before the job."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.pages = runtime_context.get_list_state(ListStateDescriptor("pages", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        user, page = value
        self.count.update((self.count.value() or 0) + 1)
        self.pages.add(page)
        yield user, self.count.value(), list(self.pages)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp


class FillVisits(KeyedStateBootstrapFunction):
    open = Visits.open

    def process_element(self, value: Row, ctx: Any) -> None:
        self.count.update(value.visits)
        self.pages.update(value["pages"])
        if value.visits == 7:
            ctx.timer_service().register_event_time_timer(1234)


class FillBuffer(StateBootstrapFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.buffer = store.get_list_state(ListStateDescriptor("buffer", Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> None:
        self.buffer.add(value.visits)


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class FillRules(BroadcastStateBootstrapFunction):
    def process_broadcast_element(self, value: Row, state: Any) -> None:
        state.put(value.user, value.visits)


@pytest.fixture(scope="module")
def users() -> Any:
    spark = get_or_create_session({"spark.master": "local[2]"})
    return spark.createDataFrame(USERS, "user string, visits bigint, pages array<string>")


@pytest.fixture(scope="module")
def savepoint(users: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "savepoint"
    boot = OperatorTransformation.bootstrap_with(users)
    few = OperatorTransformation.bootstrap_with(users.where("visits < 3"))
    (
        SavepointWriter.new_savepoint(parallelism=3)
        .with_operator("visits", boot.key_by("user").transform(FillVisits()))
        .with_operator("buffering", boot.transform(FillBuffer()))
        .with_operator("rules", few.transform(FillRules(RULES)))
        .write(str(path))
    )
    return path


def run_visits(restore: Path, records: list[Any], *, allow_unmatched: bool = True) -> list[Any]:
    settings = {
        "spark.master": "local[2]",
        "execution.state-recovery.path": str(restore),
        "execution.state-recovery.ignore-unclaimed-state": str(allow_unmatched).lower(),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    stream = env.from_collection(records).key_by(lambda visit: visit[0]).process(Visits())
    return sorted(stream.uid("visits").execute_and_collect(), key=str)


class TestWriting:
    def test_a_job_goes_on_from_what_was_written(self, savepoint: Path) -> None:
        found = run_visits(savepoint, [("user-5", "x"), ("user-5", "y"), ("new", "z")])
        assert found == [
            ("new", 1, ["z"]),
            ("timer", "user-7", 1234),
            ("user-5", 6, ["a", "b", "x"]),
            ("user-5", 7, ["a", "b", "x", "y"]),
        ]

    def test_an_operator_is_replaced_and_others_are_kept(
        self, users: Any, savepoint: Path, tmp_path: Path
    ) -> None:
        again = tmp_path / "again"
        replaced = OperatorTransformation.bootstrap_with(users.where("user = 'user-5'"))
        (
            SavepointWriter.from_existing_savepoint(str(savepoint), parallelism=1)
            .remove_operator("visits")
            .with_operator("visits", replaced.key_by(lambda row: row.user).transform(FillVisits()))
            .remove_operator("rules")
            .write(str(again))
        )
        moved = tmp_path / "moved"
        shutil.move(again, moved)
        reader = SavepointReader.read(str(moved))
        assert {o.uid for o in reader.operators()} == {"visits", "buffering"}
        assert reader.read_list_state("buffering", "buffer").count() == len(USERS)
        assert [r.key for r in reader.read_keyed_state("visits", "count").collect()] == ["user-5"]
        assert run_visits(moved, [("user-6", "x")]) == [("user-6", 1, ["x"])]

    def test_broadcast_state_reaches_every_subtask(self, users: Any, tmp_path: Path) -> None:
        class Look(KeyedBroadcastProcessFunction):
            def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
                yield value, ctx.get_broadcast_state(RULES).get(value)

            def process_broadcast_element(self, value: Any, ctx: Any) -> None:
                pass

        path = tmp_path / "savepoint"
        boot = OperatorTransformation.bootstrap_with(users).transform(FillRules(RULES))
        SavepointWriter.new_savepoint().with_operator("look", boot).write(str(path))
        settings = {"spark.master": "local[2]", "execution.state-recovery.path": str(path)}
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )
        env.set_parallelism(2)
        rules = env.from_collection(["unused"]).broadcast(RULES)
        names = env.from_collection([user for user, _, _ in USERS]).key_by(lambda name: name)
        found = names.connect(rules).process(Look()).uid("look").execute_and_collect()
        assert sorted(found) == sorted((user, visits) for user, visits, _ in USERS)

    def test_what_cannot_be_written(self, users: Any, savepoint: Path, tmp_path: Path) -> None:
        boot = OperatorTransformation.bootstrap_with(users)
        with pytest.raises(FunctionTypeError, match="no column 'name'"):
            boot.key_by("name")
        with pytest.raises(FunctionTypeError, match="takes a Spark DataFrame, not list"):
            OperatorTransformation.bootstrap_with([1])
        with pytest.raises(FunctionTypeError, match="needs a KeyedStateBootstrapFunction"):
            boot.key_by("user").transform(FillBuffer())
        with pytest.raises(FunctionTypeError, match="end it with"):
            SavepointWriter.new_savepoint().with_operator("x", boot)
        writer = SavepointWriter.from_existing_savepoint(str(savepoint))
        with pytest.raises(FunctionTypeError, match="remove_operator"):
            writer.with_operator("visits", boot.key_by("user").transform(FillVisits()))
        with pytest.raises(FunctionTypeError, match="no operator with uid 'nobody'"):
            writer.remove_operator("nobody")
        with pytest.raises(CheckpointError, match="is already a savepoint"):
            writer.write(str(savepoint))


class TestReading:
    def test_the_operators(self, savepoint: Path) -> None:
        found = {o.uid: o for o in SavepointReader.read(str(savepoint)).operators()}
        assert found["visits"].keyed_states == {
            "count": "ValueState of Long",
            "pages": "ListState of ListTypeInfo<String>",
        }
        assert found["visits"].parallelism == 3
        assert found["buffering"].operator_states == {
            "buffer": "split ListState of ListTypeInfo<Long>"
        }

    def test_keyed_state(self, savepoint: Path) -> None:
        reader = SavepointReader.read(str(savepoint))
        counts = reader.read_keyed_state(OperatorIdentifier.for_uid("visits"), "count")
        assert counts.dtypes == [("key", "string"), ("value", "bigint")]
        assert sorted(map(tuple, counts.collect())) == sorted((u, n) for u, n, _ in USERS)
        pages = reader.read_keyed_state("visits", "pages")
        assert dict(map(tuple, pages.collect())) == {u: p for u, _, p in USERS if p}

    def test_all_states_of_a_key_through_a_function(self, savepoint: Path) -> None:
        class Both(KeyedStateReaderFunction):
            open = Visits.open

            def read_key(self, key: str) -> Iterator[Any]:
                yield key, self.count.value(), ",".join(self.pages)

        frame = SavepointReader.read(str(savepoint)).read_keyed_state(
            "visits", Both(), "user string, visits bigint, pages string"
        )
        assert sorted(map(tuple, frame.collect())) == sorted(
            (user, visits, ",".join(pages)) for user, visits, pages in USERS
        )

    def test_operator_state(self, savepoint: Path) -> None:
        reader = SavepointReader.read(str(savepoint))
        buffer = reader.read_list_state("buffering", "buffer")
        assert sorted(r.value for r in buffer.collect()) == list(range(40))
        rules = reader.read_broadcast_state("rules", "rules")
        assert sorted(map(tuple, rules.collect())) == [
            ("user-0", 0),
            ("user-1", 1),
            ("user-2", 2),
        ]

    def test_what_is_not_there(self, savepoint: Path) -> None:
        reader = SavepointReader.read(str(savepoint))
        with pytest.raises(StateError, match="no operator with uid 'x'; it has 'visits'"):
            reader.read_keyed_state("x", "count")
        with pytest.raises(StateError, match="no such state 'x' in the savepoint; it has count"):
            reader.read_keyed_state("visits", "x")
        with pytest.raises(StateError, match="not union"):
            reader.read_union_state("buffering", "buffer")
        with pytest.raises(CheckpointError, match="_metadata is missing"):
            SavepointReader.read(str(savepoint.parent))

    def test_the_savepoint_of_a_running_job(self, tmp_path: Path) -> None:
        class Remember(MapFunction, CheckpointedFunction):
            def initialize_state(self, context: Any) -> None:
                store = context.get_operator_state_store()
                self.seen = store.get_union_list_state(ListStateDescriptor("seen", Types.LONG()))

            def snapshot_state(self, context: Any) -> None:
                pass

            def map(self, value: int) -> tuple[str, str]:
                self.seen.add(value)
                return f"user-{value % 5}", "page"

        settings = {"spark.master": "local[2]", "execution.epoch.target": "200 ms"}
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )
        env.set_parallelism(2)
        source = DataGeneratorSource(lambda i: i, 100_000, RateLimiterStrategy.per_second(500))
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        visits = stream.map(Remember()).uid("map").key_by(lambda visit: visit[0]).process(Visits())
        visits.uid("visits").sink_to(DiscardingSink())
        client = env.execute_async("visits")
        wait_until_read(client, 100)
        path = client.stop_with_savepoint(False, str(tmp_path)).result()
        reader = SavepointReader.read(path)
        seen = [r.value for r in reader.read_union_state("map", "seen").collect()]
        assert len(set(seen)) == len(seen)
        counts = dict(map(tuple, reader.read_keyed_state("visits", "count").collect()))
        assert sum(counts.values()) == len(seen) > 0
