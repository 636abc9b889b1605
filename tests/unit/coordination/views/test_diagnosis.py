"""The diagnosis: one sentence for each kind of trouble."""

from __future__ import annotations

import pytest

from headrace.coordination.bodies.jobs import HeldWatermark
from headrace.coordination.views import diagnosis
from headrace.coordination.views.diagnosis import (
    CheckpointPicture,
    JobPicture,
    LongEpoch,
    SubtaskPicture,
    VertexPicture,
    diagnose,
    findings_of,
)
from headrace.coordination.views.job_picture import place_of


def job(*vertices: VertexPicture, **figures: object) -> JobPicture:
    settings: dict[str, object] = {"state": "RUNNING", "more": True, "records_per_s": 1000.0}
    return JobPicture(vertices=vertices, **{**settings, **figures})  # type: ignore[arg-type]


def vertex(name: str, *busy: float, source: bool = False, waits: float = 0.0) -> VertexPicture:
    subtasks = tuple(SubtaskPicture(i, b, waits) for i, b in enumerate(busy))
    return VertexPicture(name, name, source, subtasks)


SOURCE = vertex("numbers", 0.05, 0.05, source=True)


def test_a_hot_key_is_named() -> None:
    hot = VertexPicture(
        "count",
        "count",
        False,
        (SubtaskPicture(0, 0.2), SubtaskPicture(1, 0.97, 0, 9, "'a'", 0.63)),
    )
    found = diagnose(job(SOURCE, hot))
    assert found.code == "hot-key"
    assert found.sentence == (
        "Subtask 1 of \"count\" is busy 97 %; key 'a' has 63 % of its records."
    )
    assert "two stages" in found.advice
    assert (found.vertex, found.subtask, found.status) == ("count", 1, "warning")


def test_a_busy_subtask_is_told_from_a_busy_vertex() -> None:
    skewed = diagnose(job(SOURCE, vertex("count", 0.9, 0.1)))
    assert skewed.code == "busy-subtask"
    assert skewed.sentence == 'Subtask 0 of "count" is busy 90 %, the others 10 % on average.'
    even = diagnose(job(SOURCE, vertex("count", 0.9, 0.8)))
    assert even.code == "busy-vertex"
    assert even.sentence == '"count" limits the job: its subtasks are busy 85 %.'


def test_who_waits_for_whom_is_said() -> None:
    found = findings_of(job(vertex("numbers", 0.1, waits=0.8), vertex("count", 0.85)))
    assert [f.code for f in found] == ["busy-vertex", "back-pressure"]
    assert found[1].sentence == '"numbers" waits for "count" 80 % of the time.'


def test_a_job_that_keeps_up_or_has_nothing_to_do_is_fine() -> None:
    keeps_up = diagnose(job(SOURCE, vertex("count", 0.6), more=False))
    assert keeps_up.code == "source-limited"
    assert keeps_up.status == "ok"
    assert "1,000 records a second" in keeps_up.sentence
    assert diagnose(job(SOURCE, more=False, records_per_s=0.0)).code == "idle"


def test_spark_may_be_what_takes_the_time() -> None:
    found = diagnose(job(SOURCE, vertex("count", 0.2), spark_share=0.7))
    assert found.code == "overhead"
    assert "70 %" in found.sentence


@pytest.mark.parametrize(
    ("behind_ms", "says"),
    [(None, "has no watermark yet"), (90_000, "is 90 s behind"), (600_000, "is 10 min behind")],
)
def test_the_split_that_holds_event_time_back_is_named(behind_ms: int | None, says: str) -> None:
    held = HeldWatermark("v", "orders", 1, "orders-3", None, behind_ms)
    found = diagnose(job(SOURCE, more=False, held=held))
    assert found.code == "watermark-held"
    assert f'split orders-3 of subtask 1 of "orders" {says}' in found.sentence
    near = HeldWatermark("v", "orders", 1, "orders-3", 0, 5_000)
    assert diagnose(job(SOURCE, more=False, held=near)).code == "source-limited"


def test_failing_checkpoints_and_restarts_come_first() -> None:
    picture = job(
        SOURCE,
        vertex("count", 0.9, 0.9),
        checkpoints=CheckpointPicture(3, "no space left\nmore"),
        recent_restarts=1,
        last_failure="ValueError: x",
    )
    found = findings_of(picture)
    assert [f.code for f in found] == ["checkpoints-failing", "restarting", "busy-vertex"]
    assert found[0].sentence == "The last 3 checkpoints failed: no space left."
    assert "once in the last 10 minutes, last because of: ValueError: x" in found[1].sentence


@pytest.mark.parametrize(
    ("state", "code", "status"),
    [
        ("CREATED", "starting", "ok"),
        ("RESTARTING", "restarting", "critical"),
        ("FAILED", "ended", "critical"),
        ("FINISHED", "ended", "ok"),
        ("CANCELLING", "ended", "ok"),
    ],
)
def test_a_job_that_does_not_run(state: str, code: str, status: str) -> None:
    found = diagnose(job(SOURCE, state=state, last_failure="ValueError: x"))
    assert (found.code, found.status) == (code, status)


@pytest.mark.parametrize("completed", [True, False])
def test_a_failed_job_is_started_from_a_checkpoint_if_there_is_one(completed: bool) -> None:
    found = diagnose(job(state="FAILED", checkpoints=CheckpointPicture(completed=completed)))
    assert ("from its last checkpoint" in found.advice) == completed


def test_an_epoch_that_hangs_is_named_with_its_line() -> None:
    stack = (
        f'  File "{diagnosis.__file__}", line 3, in run_epoch\n    x()\n'
        '  File "/home/me/job.py", line 12, in map\n    time.sleep(1000)\n'
    )
    hanging = LongEpoch(42.0, "Map [1]", place_of(stack))
    said = diagnose(job(SOURCE, more=False, records_per_s=0.0, long_epoch=hanging))
    assert said.code == "long-epoch"
    assert "42 s" in said.sentence
    assert '"Map [1]" is at /home/me/job.py:12 (map)' in said.sentence
    assert "idle" not in [f.code for f in said.findings]
