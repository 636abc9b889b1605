"""Checkpoints: what they cost by size of state and of change, how long a barrier takes, restore."""

from __future__ import annotations

import pickle
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import programs
from benchmarks.cases import Settings, spark_context
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.peers import environments as peers
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.graph.ids import CheckpointId, SlotId
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.batch import Batch
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.operator import SubtaskServices, TaskInfo
from headrace.runtime.slot.deployment import JobSettings, deployment_of
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.state.factory import StateBackends, StateBackendSettings
from headrace.runtime.subtask import Subtask

BACKENDS = ("hashmap", "rocksdb")
SMALL, LARGE = 10_000, 1_000_000
CHANGES = 1_000
GROUPS = 128
_BATCH = 5_000


class Keep(KeyedProcessFunction):
    """Keeps the last value of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        self.last.update(value[1])


def _subtasks(backend: str, parallelism: int) -> list[Subtask]:
    """All subtasks of a keyed vertex, as a slot builds them."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.set_max_parallelism(GROUPS)
    env.from_collection([]).key_by(lambda value: value[0]).process(Keep()).print()
    graph = env.get_job_graph()
    physical = build_physical_graph(graph)
    job = pickle.loads(deployment_of(graph, physical).packed(JobSettings("0" * 32, "benchmark")))
    backends = StateBackends(StateBackendSettings(backend))
    return [
        Subtask(
            deployment,
            TaskInfo("0" * 32, "benchmark", "keep", int(partition.subtask), parallelism, GROUPS),
            SubtaskServices(),
            lambda: 0,
            True,
            backends,
        )
        for slot in range(physical.slots)
        for partition, deployment in job.subtasks_of(SlotId(slot))
        if not deployment.vertex.is_source
    ]


def _key(number: int) -> str:
    # All of one length: bytes must differ by the number of entries and nothing else.
    return f"key-{number:012d}"


def _process(subtask: Subtask, numbers: Sequence[int]) -> None:
    channel = (subtask.vertex.in_edges[0].index, 0)
    for start in range(0, len(numbers), _BATCH):
        part = numbers[start : start + _BATCH]
        keys = [_key(n) for n in part]
        values = [(key, n + (1 << 40)) for key, n in zip(keys, part, strict=True)]
        subtask.take(channel, Batch(values, None, keys))
    # As at the end of an epoch.
    for part in (*subtask.backends.values(), *subtask.timers.values()):
        part.epoch_end()


@dataclass(frozen=True)
class Taken:
    """One checkpoint of one subtask."""

    pause_ms: float
    total_ms: float
    bytes: int


class _Checkpointing:
    """Subtasks that take checkpoints one after the other, each on top of the one before."""

    def __init__(self, subtasks: list[Subtask]) -> None:
        self.subtasks = subtasks
        self.directory = tempfile.mkdtemp(prefix="headrace-bench-")
        self.files: list[list[SnapshotRef]] = [[] for _ in subtasks]
        self._snapshots = SlotSnapshots(SlotId(0), self._take)
        self._arrived = threading.Event()
        self._part: Snapshotted | None = None
        self._last = 0

    def _take(self, part: Snapshotted) -> None:
        self._part = part
        self._arrived.set()

    def checkpoint(self) -> list[Taken]:
        base = CheckpointId(self._last) if self._last else None
        self._last += 1
        request = CheckpointRequest(
            CheckpointId(self._last), f"{self.directory}/chk-{self._last}", base
        )
        taken = []
        for files, subtask in zip(self.files, self.subtasks, strict=True):
            self._arrived.clear()
            began = time.perf_counter()
            self._snapshots.take(subtask, request)
            pause = time.perf_counter() - began
            self._arrived.wait()
            total = time.perf_counter() - began
            assert self._part is not None
            assert self._part.error is None, self._part.error
            operators = frozenset(o.context.operator_id for o in subtask.operators.values())
            part = self._part
            files.append(SnapshotRef(part.path, part.subtask, operators, part.seal))
            taken.append(Taken(pause * 1e3, total * 1e3, self._part.size))
            subtask.checkpoint_ended(request.checkpoint, True)
        return taken

    def close(self) -> None:
        for subtask in self.subtasks:
            subtask.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _measured(backend: str, keys: int, changes: Iterable[int], rounds: int) -> dict[int, Any]:
    """The full checkpoint (under 0), and by number of changes the incremental ones."""
    (subtask,) = _subtasks(backend, 1)
    subtask.open()
    run = _Checkpointing([subtask])
    try:
        _process(subtask, range(keys))
        taken: dict[int, Any] = {0: run.checkpoint()}
        for number in changes:
            taken[number] = []
            for turn in range(rounds + 1):
                _process(subtask, [(turn + i * (keys // number)) % keys for i in range(number)])
                taken[number] += run.checkpoint()
            # The first one warms up.
            del taken[number][0]
        return taken
    finally:
        run.close()


def _middle(taken: list[Taken], figure: Callable[[Taken], float]) -> float:
    return statistics.median(map(figure, taken))


def costs(settings: Settings) -> Iterator[Result]:
    """Checkpoints of 1,000 changes with 10,000 and with 1,000,000 keys, and the barrier."""
    large = settings.records(LARGE)
    for backend in BACKENDS:
        few = _measured(backend, SMALL, [CHANGES], settings.rounds)
        many = _measured(backend, large, [100, CHANGES, CHANGES * 10], settings.rounds)
        for unit, figure in (("ms", lambda t: t.total_ms), ("bytes", lambda t: t.bytes)):
            ours, theirs = _middle(many[CHANGES], figure), _middle(few[CHANGES], figure)
            yield Result(
                name=f"checkpoint of {CHANGES:,} changes, {large:,} keys, {backend}",
                peer=f"{SMALL:,} keys",
                unit=unit,
                ours=ours,
                theirs=theirs,
                ratio=ours / theirs,
                goal=1.5,
                at_least=False,
            )
            for number in (100, CHANGES * 10):
                ours = _middle(many[number], figure)
                yield _plain(f"checkpoint of {number:,} changes, {large:,} keys, {backend}",
                             "a full one", unit, ours, _middle(many[0], figure))  # fmt: skip
        for name, taken in (("full", many[0]), ("incremental", many[CHANGES])):
            pause = _middle(taken, lambda t: t.pause_ms)
            yield Result(
                name=f"barrier with {large:,} keys, {name}, {backend}",
                peer="the goal",
                unit="ms",
                ours=pause,
                theirs=100.0,
                ratio=pause / 100.0,
                goal=1.0,
                at_least=False,
            )


def _plain(name: str, peer: str, unit: str, ours: float, theirs: float) -> Result:
    return Result(name=name, peer=peer, unit=unit, ours=ours, theirs=theirs, ratio=ours / theirs)


def restore(settings: Settings) -> Iterator[Result]:
    """Restore of 1,000,000 keys from two files by four subtasks, one after the other."""
    keys = settings.records(LARGE)
    for backend in BACKENDS:
        filled, restored = _restore_times(backend, keys)
        yield _plain(
            f"restore of {keys:,} keys at double parallelism, {backend}, all subtasks",
            "processing them once",
            "s",
            restored,
            filled,
        )


def _restore_times(backend: str, keys: int) -> tuple[float, float]:
    """Seconds to fill the state of two subtasks, and to restore it in four."""
    old, new = _subtasks(backend, 2), _subtasks(backend, 4)
    run = _Checkpointing(old)
    try:
        for subtask in old:
            subtask.open()
        shares: list[list[int]] = [[], []]
        for n in range(keys):
            shares[key_group_of(_key(n), GROUPS) * 2 // GROUPS].append(n)
        filled = timed(lambda: [_process(s, part) for s, part in zip(old, shares, strict=True)])
        run.checkpoint()
        files = {o.context.operator_id: run.files for o in old[0].operators.values()}
        restored = timed(lambda: [_restored(subtask, files) for subtask in new])
        entries = sum(b.number_of_entries() for s in new for b in s.backends.values())
        assert entries == keys
        for subtask in new:
            subtask.close()
        return filled, restored
    finally:
        run.close()


def _restored(subtask: Subtask, files: dict[str, list[list[SnapshotRef]]]) -> None:
    SlotSnapshots(SlotId(0), lambda part: None).restore(subtask, files)
    subtask.open()


def throughput(settings: Settings) -> Iterator[Result]:
    """The keyed count with a checkpoint every second against the same without."""
    spark_context(settings)
    records = settings.records(12_000_000)
    for incremental in ("false", "true"):
        checkpointed = {
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.incremental": incremental,
        }

        def run(more: dict[str, str]) -> float:
            return records / timed(lambda: programs.keyed_count(records, 100_000, more))

        with_them, without = alternate(
            lambda more=checkpointed: run(more),  # type: ignore[misc]
            lambda: run({}),
            max(2, settings.rounds // 2),
        )
        yield Result(
            name="keyed count, 100,000 keys, checkpoint every second, "
            + ("incremental" if incremental == "true" else "full"),
            peer="without checkpoints",
            unit="records/s",
            ours=statistics.median(with_them),
            theirs=statistics.median(without),
            ratio=middle_ratio(with_them, without),
            goal=0.8,
        )


def checkpoints(settings: Settings) -> Iterator[Result]:
    """Duration and bytes of checkpoints, barrier, restore, and throughput with checkpoints."""
    yield from costs(settings)
    yield from restore(settings)
    yield from throughput(settings)


def against_pyflink(settings: Settings) -> Iterator[Result]:
    """What is left of the rate with a checkpoint every second, here and in PyFlink."""
    python = peers.peer_python("pyflink", settings.pyflink_python)
    spark_context(settings)
    keys, few, many = 1_000, settings.records(60_000), settings.records(12_000_000)

    def theirs(checkpoint_ms: int | None) -> float:
        return float(peers.pyflink_keyed_count(python, few, keys, checkpoint_ms)["rate"])

    def ours(more: dict[str, str]) -> float:
        return many / timed(lambda: programs.keyed_count(many, keys, more))

    interval = {"execution.checkpointing.interval": "1 s"}
    mine = alternate(lambda: ours(interval), lambda: ours({}), 2)
    others = theirs(1_000), theirs(None)
    shares = middle_ratio(*mine), others[0] / others[1]
    yield Result(
        name="rate with a checkpoint every second, of that without",
        peer="PyFlink 2.3",
        unit="share",
        ours=shares[0],
        theirs=shares[1],
        ratio=shares[0] / shares[1],
        samples={"headrace": mine, "PyFlink 2.3": others},
    )


CASES = {"checkpoints": checkpoints, "checkpoints-pyflink": against_pyflink}
