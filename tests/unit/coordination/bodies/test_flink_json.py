"""Dataclasses as Flink's JSON, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from headrace.common.job_status import JobStatus
from headrace.coordination.bodies.flink_json import (
    OMITTED,
    called,
    camel_case,
    from_json,
    snake_case,
    to_json,
)
from headrace.coordination.bodies.jobs import JobParts
from headrace.coordination.job.restart_policy import FixedDelay
from headrace.coordination.views.job_details import details_of
from headrace.testing.memory_storage import MemoryStorage
from tests.unit.coordination.job.jobs import Job, Sum, every, sums


@camel_case
@dataclass(frozen=True)
class Inner:
    some_name: int
    own_way: str = field(default="", metadata=called("own-way"))


@dataclass(frozen=True)
class Outer:
    start_time: int
    inner: Inner | None
    many: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = field(default_factory=dict)
    left_out: int | None = field(default=None, metadata=OMITTED)


@snake_case
@dataclass(frozen=True)
class Snake:
    start_time: int


def test_names_follow_the_class_and_the_field() -> None:
    inner = {"someName": 1, "own-way": "x"}
    assert to_json(Inner(1, "x")) == inner
    assert to_json(Snake(1)) == {"start_time": 1}
    assert to_json(Outer(1, None)) == {
        "start-time": 1,
        "inner": None,
        "many": [],
        "by-name": {},
    }
    assert to_json([Outer(1, Inner(1, "x"), left_out=0)])[0]["inner"] == inner


def test_json_is_read_by_the_types_of_fields() -> None:
    outer = Outer(1, Inner(2), (Inner(3), Inner(4)), {"a_b": Inner(5)}, 6)
    assert from_json(Outer, json.loads(json.dumps(to_json(outer)))) == outer
    assert from_json(list[Outer], [{"start-time": 1, "inner": None, "new": 2}]) == [Outer(1, None)]
    with pytest.raises(ValueError, match="'start-time' is missing"):
        from_json(Outer, {"inner": None})


def test_all_that_is_told_of_a_job_can_be_read_again() -> None:
    options = {"checkpoints": every(1000, "told"), "restarts": FixedDelay(1, 0.0)}
    try:
        job = Job(sums(Sum(fail_at=7)), **options)
        job.run_epochs(2)
        running = details_of(job.master, JobStatus.RUNNING)
        job.finish()
        for parts in (running, details_of(job.master, JobStatus.FINISHED)):
            assert from_json(JobParts, json.loads(json.dumps(to_json(parts)))) == parts
    finally:
        MemoryStorage().delete_directory("in-process://told")
