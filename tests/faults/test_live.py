"""A job that is carried live: the job that carries its frames ends, breaks, and comes back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.coordination.slots import live
from headrace.coordination.slots.live import LiveSettings, NotLiveError
from headrace.coordination.slots.processes import SlotProcesses
from headrace.coordination.views import job_picture
from headrace.coordination.views.checkpoint_details import checkpoint_details
from headrace.coordination.views.job_picture import diagnosis_of
from headrace.coordination.views.metric_values import metrics_of
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from headrace.graph.ids import SlotId
from headrace.runtime.slot.protocol import Carriage
from tests.faults import live_process_carrier
from tests.faults.counting import PARALLELISM, Row
from tests.faults.counting_job import WAIT_S, CountingJob
from tests.faults.live_process_carrier import LiveProcessCarrier
from tests.faults.process_carrier import ProcessCarrier
from tests.faults.row_files import committed_rows

pytestmark = pytest.mark.fault


def test_the_job_that_carries_frames_ends_with_the_job(tmp_path: Path) -> None:
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        job.wait_for_rows(50)
        job.finish_with_files()
        assert job.master.restarts == 0
        assert (job.carrier.carriages, job.carrier.running) == (1, 0)
    assert not [t for t in threading.enumerate() if t.name == "headrace-live"]


def test_where_it_cannot_be_had_epochs_are_carried_one_by_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CountingJob(tmp_path, carrier=_refusing(demanded=False)) as job:
        job.wait_for_rows(50)
        job.finish_with_files()
        assert (job.carrier.carriages, job.master.restarts) == (0, 0)
        assert not job.master.live
    told = [r.getMessage() for r in caplog.records if "one by one" in r.getMessage()]
    assert told == ["epochs of the job are carried one by one: there is no room"]


def test_where_it_is_demanded_and_cannot_be_had_the_job_fails(tmp_path: Path) -> None:
    never = {"restart-strategy.type": "none"}
    with (
        CountingJob(tmp_path, never, carrier=_refusing(demanded=True)) as job,
        pytest.raises(JobExecutionError, match=r"execution\.carrier demands: there is no room"),
    ):
        job.master.result_future().result(WAIT_S)


def test_a_job_that_was_live_goes_on_where_it_cannot_be_live_again(tmp_path: Path) -> None:
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        job.wait_for_rows(20)
        job.carrier.refuses = True
        # The first attempt was live; the second one never is.
        job.master.rescale(PARALLELISM + 1).result(WAIT_S)
        job.wait_for_rows(20)
        job.finish_with_files()
        assert (job.carrier.carriages, job.master.restarts) == (1, 0)


def _refusing(demanded: bool) -> Callable[[], LiveProcessCarrier]:
    def carrier() -> LiveProcessCarrier:
        made = LiveProcessCarrier(LiveSettings(demanded))
        made.refuses = True
        return made

    return carrier


class _Queued(LiveProcessCarrier):
    """Others are always first."""

    def make_way(self, carriage: Carriage, wanted: Callable[[], bool]) -> None:
        self.waits = True
        while wanted():
            time.sleep(0.01)
        raise NotLiveError("nobody wants it any more")


class _Noting(LiveProcessCarrier):
    """Notes when its tasks have called all slots."""

    tasks_have_called = False

    def connected(self, carriage: Carriage) -> None:
        self.tasks_have_called = True


class _TriesAgain(LiveProcessCarrier):
    """Tries lost tasks again until it is cancelled, as Spark does for a while."""

    def carry(self, carriage: Carriage) -> None:
        self._cancelled = threading.Event()
        try:
            super().carry(carriage)
        except Exception:
            self._cancelled.wait()
            raise

    def cancel_carriage(self) -> None:
        self._cancelled.set()


class _OpensLate(MapFunction[Row, Row]):
    def __init__(self, ready: Path) -> None:
        self._ready = ready

    def open(self, runtime_context: RuntimeContext) -> None:
        while not self._ready.exists():
            time.sleep(0.01)

    def map(self, value: Row) -> Row:
        return value


def test_it_comes_up_while_functions_open(tmp_path: Path) -> None:
    """And others need not wait for these: the tasks have what they need."""
    ready = tmp_path / "ready"
    opens_late = _OpensLate(ready)
    with CountingJob(tmp_path / "job", change=lambda s: s.map(opens_late), carrier=_Noting) as job:
        job.wait_for(lambda: job.carrier.tasks_have_called, "calls of all tasks")
        ready.touch()
        job.wait_for_rows(20)
        job.finish_with_files()
        assert (job.carrier.carriages, job.master.restarts) == (1, 0)


def test_epochs_go_on_while_a_checkpoint_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, storage_answers = threading.Event(), threading.Event()
    write = CompletedCheckpoint.write_metadata

    def write_late(checkpoint: CompletedCheckpoint) -> None:
        begun.set()
        storage_answers.wait(WAIT_S)
        write(checkpoint)

    monkeypatch.setattr(CompletedCheckpoint, "write_metadata", write_late)
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        job.wait_for(begun.is_set, "a checkpoint")
        seen = job.master.figures.epochs_run
        try:
            job.wait_for(lambda: job.master.figures.epochs_run > seen + 5, "epochs")
        finally:
            storage_answers.set()
        job.finish_with_files()
        assert job.master.restarts == 0


def test_a_job_that_waits_for_others_can_be_cancelled(tmp_path: Path) -> None:
    with CountingJob(tmp_path, carrier=_Queued) as job:
        job.wait_for(lambda: getattr(job.carrier, "waits", False), "the wait")
        job.wait_for(lambda: job.master.figures.epoch_age_s, "an epoch that wants to go live")
        job.master.cancel().result(WAIT_S)
        assert job.carrier.carriages == 0
    assert not [t for t in threading.enumerate() if t.name == "headrace-live"]


def test_when_it_breaks_the_job_goes_back_to_its_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody waits for one that tries in vain.
    monkeypatch.setattr(live, "_END_S", 10 * WAIT_S)
    with CountingJob(tmp_path, carrier=_TriesAgain) as job:
        job.wait_for_rows(20)
        for restarts in range(1, 4):
            job.carrier.break_down()
            # In the middle of an epoch frames are lost with it; between two there are none.
            carriages = job.carrier.carriages
            job.wait_for(lambda n=carriages: job.carrier.carriages > n, "another one")
            job.wait_for_rows(20)
            assert job.master.restarts <= restarts
        job.finish_with_files()


def test_an_idle_job_lets_it_go_and_gets_it_back(tmp_path: Path) -> None:
    # Checkpoints go on meanwhile.
    settings = {"heartbeat.interval": "100 ms"}

    def carrier() -> LiveProcessCarrier:
        return LiveProcessCarrier(LiveSettings(demanded=True, idle_s=0.2))

    with CountingJob(tmp_path / "job", settings, carrier=carrier) as job:
        for turn in range(1, 4):
            job.wait_for(lambda n=turn: job.carrier.carriages >= n, "a job that carries frames")
            job.paused.touch()
            job.wait_for(lambda: job.carrier.running == 0, "its end")
            job.paused.unlink()
        assert job.carrier.cancelled == 0, "it ends by itself"
        job.finish_with_files()
        assert job.master.restarts == 0


def test_one_through_which_no_frames_come_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live, "_PROBE_S", 0.5)
    monkeypatch.setattr(live_process_carrier.Shuffle, "write", lambda self, pairs: None)
    with CountingJob(tmp_path, carrier=lambda: LiveProcessCarrier(LiveSettings())) as job:
        job.wait_for_rows(20)
        job.finish_with_files()
        assert not job.carrier.was_live
        assert job.master.restarts == 0
    assert "epochs of the job are carried one by one: the Spark job that carries" in caplog.text


def test_a_savepoint_does_not_wait_for_more_records(tmp_path: Path) -> None:
    settings = {"execution.live.linger": "1 h", "execution.checkpointing.interval": "1 h"}
    with CountingJob(tmp_path / "job", settings, carrier=LiveProcessCarrier) as job:
        job.wait_for(lambda: job.carrier.carriages, "a job that carries frames")
        for number in range(3):
            job.master.trigger_savepoint(str(tmp_path / str(number))).result(WAIT_S)
        job.master.cancel().result(WAIT_S)


class _Alarm(KeyedProcessFunction[Row, Row, int]):
    """Passes rows on, and notes in a file what its timers of processing time do."""

    def __init__(self, fired: Path) -> None:
        self._fired = fired

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 50)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        late_ms = time.time() * 1000 - timestamp
        with self._fired.open("a") as file:
            file.write(f"{late_ms}\n")
        yield from ()


def test_timers_do_not_wait_for_records(tmp_path: Path) -> None:
    settings = {"execution.live.linger": "1 h", "execution.checkpointing.interval": "1 h"}
    fired = tmp_path / "fired"

    def with_alarms(stream: DataStream[Row]) -> DataStream[Row]:
        return stream.key_by(lambda row: row[0]).process(_Alarm(fired))

    with CountingJob(tmp_path / "job", settings, with_alarms, carrier=LiveProcessCarrier) as job:
        job.wait_for(fired.exists, "a timer that fires")
        job.master.cancel().result(WAIT_S)
    assert all(float(late_ms) >= 0 for late_ms in fired.read_text().split())


def test_it_is_replaced_from_time_to_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_ROLL_S", 0.2)
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        job.wait_for(lambda: job.carrier.carriages > 3, "another one")
        job.wait_for_rows(20)
        job.finish_with_files()
        assert (job.carrier.running, job.master.restarts) == (0, 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [(ProcessCarrier, LiveProcessCarrier), (LiveProcessCarrier, ProcessCarrier)],
    ids=["to live", "to epochs"],
)
def test_a_job_moves_from_one_carrier_to_the_other_at_a_savepoint(
    tmp_path: Path, first: Any, second: Any
) -> None:
    with CountingJob(tmp_path / "job", carrier=first) as job:
        job.wait_for_rows(20)
        savepoint = job.master.stop_with_savepoint(False, str(tmp_path / "sp")).result(WAIT_S)
        before = list(job.rows)
    settings = {"execution.state-recovery.path": savepoint}
    with CountingJob(tmp_path / "job", settings, carrier=second) as job:
        job.rows.extend(before)
        job.wait_for_rows(20)
        job.finish_with_files()


def test_a_live_job_changes_its_parallelism(tmp_path: Path) -> None:
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        for parallelism in (PARALLELISM + 1, 1):
            job.wait_for_rows(20)
            job.master.rescale(parallelism).result(WAIT_S)
        job.wait_for_rows(20)
        job.finish_with_files()
        assert job.master.restarts == 0


def test_channels_and_alignment_are_measured(tmp_path: Path) -> None:
    with CountingJob(tmp_path, carrier=LiveProcessCarrier) as job:
        job.wait_for_checkpoints(1)
        (moment, *_) = job.wait_for(job.master.figures.moments, "a second that is over")
        assert moment.epochs > 0
        assert moment.p50 <= moment.p99
        assert moment.in_usage > 0
        vertices = list(metrics_of(job.master).vertices.values())
        # Each subtask that receives records has a channel that it aligns with others.
        receiving = vertices[-1].subtasks[0].task
        assert 0 < receiving["buffers.inPoolUsage"] < 1
        assert receiving["buffers.inputQueueLength"] >= 1
        assert receiving["checkpointAlignmentTime"] > 0
        assert vertices[0].subtasks[0].task["checkpointAlignmentTime"] == 0, "a source has none"
        # Not in each of them: records come now and then.
        job.wait_for(
            lambda: any(
                task.processed_data > 0
                for details in checkpoint_details(job.master).values()
                for task in details.vertices.values()
            ),
            "a checkpoint whose barriers waited for records",
        )
        job.finish()


class _Slow(MapFunction[Row, Row]):
    """Takes its time for each record until there is a file."""

    def __init__(self, fast: Path) -> None:
        self._fast = fast

    def map(self, value: Row) -> Row:
        if not self._fast.exists():
            time.sleep(0.01)
        return value


def test_an_unaligned_checkpoint_has_what_was_on_its_way_when_a_slot_is_killed(
    tmp_path: Path,
) -> None:
    settings = {
        "execution.checkpointing.unaligned.enabled": "true",
        "execution.live.buffer-memory": "1kb",
    }
    slow = _Slow(tmp_path / "fast")

    def change(stream: Any) -> Any:
        return stream.key_by(lambda row: row[0]).map(slow).uid("slow")

    def unaligned() -> Any:
        (*_, last) = job.master.checkpoints.history or [None]
        return last if last is not None and last.persisted_data > 0 else None

    with CountingJob(tmp_path / "job", settings, change, carrier=LiveProcessCarrier) as job:
        job.wait_for(unaligned, "a checkpoint with records that were on their way")
        os.kill(job.slots()[0], signal.SIGKILL)
        job.wait_for_restarts(1)
        job.wait_for_rows(20)
        last = job.wait_for(unaligned, "another one")
        told = [s for task in last.tasks.values() for s in task.subtasks or ()]
        assert any(s.unaligned_checkpoint and s.alignment.persisted for s in told)
        savepoint = job.master.trigger_savepoint(str(tmp_path / "sp")).result(WAIT_S)
        saved = next(c for c in job.master.checkpoints.history if c.external_path == savepoint)
        assert saved.persisted_data == 0, "savepoints are always aligned"
        (tmp_path / "fast").touch()
        job.finish_with_files()


def test_a_live_job_can_be_looked_at(tmp_path: Path) -> None:
    settings = {"metrics.latency.interval": "50 ms"}
    with CountingJob(tmp_path, settings, carrier=LiveProcessCarrier) as job:
        job.wait_for_rows(20)
        attempt, vertex = job.master.attempt, job.master.job_graph.vertices[-1]
        seen = attempt.observations
        assert [dump.slot for dump in seen.threads()] == list(range(PARALLELISM))
        source = job.master.job_graph.vertices[0]
        assert len(seen.records(job.master.job_graph, source.id, None, 2, WAIT_S).records) == 2
        job.wait_for(
            lambda: seen.flame_graph(vertex.id, "full", None, refresh=False).data, "a flame graph"
        )
        job.wait_for(
            lambda: any(r.latencies for r in attempt.reports.values() if not r.source),
            "latency markers",
        )
        assert job.master.live
        job.finish()


def test_a_live_job_is_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_picture, "_LONG_S", 0.5)
    hangs = tmp_path / "hangs"

    def pass_on(row: Row) -> Row:
        while hangs.exists():
            time.sleep(0.01)
        return row

    def found(code: str) -> Any:
        diagnosis = diagnosis_of(job.master)
        return next((f for f in (diagnosis, *diagnosis.findings) if f.code == code), None)

    with CountingJob(
        tmp_path / "job", change=lambda s: s.map(pass_on), carrier=LiveProcessCarrier
    ) as job:
        job.wait_for(lambda: found("source-limited"), "that it keeps up")
        hangs.touch()
        said = job.wait_for(lambda: found("long-epoch"), "that it hangs").sentence
        assert f"{Path(__file__).name}:" in said
        assert "(pass_on)" in said
        hangs.unlink()
        os.kill(job.slots()[0], signal.SIGKILL)
        job.wait_for_restarts(1)
        assert "ended unexpectedly" in job.wait_for(lambda: found("restarting"), "why").sentence
        job.paused.touch()
        job.wait_for(lambda: found("idle"), "that nothing comes")
        job.paused.unlink()
        job.finish()


def test_a_slot_that_is_gone_is_the_reason_though_others_notice_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = SlotProcesses._on_lost

    def later(slots: SlotProcesses, slot: SlotId) -> None:
        time.sleep(0.1)
        at_once(slots, slot)

    monkeypatch.setattr(SlotProcesses, "_on_lost", later)
    with CountingJob(tmp_path / "job", carrier=LiveProcessCarrier) as job:
        job.wait_for_rows(20)
        os.kill(job.slots()[0], signal.SIGKILL)
        job.wait_for_restarts(1)
        assert "ended unexpectedly" in str(job.master.history.root_failure)
        job.finish()


def test_a_live_job_is_drained(tmp_path: Path) -> None:
    with CountingJob(tmp_path / "job", carrier=LiveProcessCarrier) as job:
        job.wait_for_rows(20)
        job.master.stop_with_savepoint(True, str(tmp_path / "savepoints")).result(WAIT_S)
        job._reader.join(WAIT_S)
        assert job.master.status().name == "FINISHED"
        assert sorted(committed_rows(job.files)) == sorted(job.rows)
