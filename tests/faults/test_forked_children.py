"""The children that write snapshots: they end with their slot, and say nothing in its name."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from tests.faults.counting_job import CountingJob
from tests.faults.laden import laden
from tests.faults.live_process_carrier import EITHER_CARRIER
from tests.faults.processes import LIMIT_S, Child, assert_gone

LINE = 30_000


@pytest.mark.parametrize("stuck", [True, False], ids=["stuck", "through"])
def test_a_child_without_its_slot_publishes_nothing(tmp_path: Path, stuck: bool) -> None:
    slot = Child("tests.faults.slot_with_child", [str(tmp_path)], tmp_path / "log")
    try:
        slot.wait_for("taken")
        deadline = time.monotonic() + LIMIT_S
        while not (tmp_path / "child").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        child = int((tmp_path / "child").read_text())
        slot.process.kill()
        slot.process.wait()
        if not stuck:
            (tmp_path / "go").touch()
        assert_gone([child])
        assert list((tmp_path / "chk-1").glob("*.snapshot")) == []
    finally:
        (tmp_path / "go").touch()
        slot.end()


class Loud:
    """A value that prints while it is pickled, in the child."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __getstate__(self) -> dict[str, Any]:
        print("c" * LINE)
        return self.__dict__


class Keep(KeyedProcessFunction[Any, Any, Any]):
    """Prints, too, so that both do it at a time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("loud"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.state.update(Loud(value[1]))
        print("s" * LINE)
        yield value


@EITHER_CARRIER
def test_what_children_print_arrives_in_whole_lines(
    tmp_path: Path, carrier: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with CountingJob(
        tmp_path,
        change=lambda s: laden(s.key_by(lambda v: v[0]).process(Keep()).uid("keep")),
        carrier=carrier,
    ) as job:
        completed = job.master.checkpoints.totals
        job.wait_for(lambda: completed["COMPLETED"] >= 10, "ten checkpoints")
        assert job.master.restarts == 0, job.master.history.failures
    lines = set(capsys.readouterr().out.splitlines())
    assert lines == {"c" * LINE, "s" * LINE}


class Forks(KeyedProcessFunction[Any, Any, Any]):
    """User code that forks a process of its own: both print."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        child = os.fork()
        for _ in range(20):
            print("of nobody's business " * 1_000)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        yield value


@EITHER_CARRIER
def test_a_process_of_user_code_does_not_disturb_the_slot(tmp_path: Path, carrier: Any) -> None:
    with CountingJob(
        tmp_path,
        change=lambda s: s.key_by(lambda v: v[0]).process(Forks()).uid("forks"),
        carrier=carrier,
    ) as job:
        job.wait_for_rows(20)
        assert job.master.restarts == 0, job.master.history.failures
