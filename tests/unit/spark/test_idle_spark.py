"""The keeper of an idle Spark, with holders that have none."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common.files.rolling_log import DEFAULT_LIMIT
from headrace.common.files.scratch import ScratchDirectory
from headrace.spark.idle import client
from headrace.spark.idle.keeper import ADDRESS, Keeper
from headrace.spark.idle.request import SparkRequest

HOLDER = """
import json, os, sys
request = json.loads(sys.stdin.readline())
if "fail" in request["settings"]:
    sys.exit(1)
print(json.dumps({"port": os.getpid(), "secret": "s"}), flush=True)
sys.stdin.read()
"""


def start_holder(request: SparkRequest) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=pipe, stdout=pipe)
    assert holder.stdin is not None
    holder.stdin.write(request.line())
    holder.stdin.flush()
    return holder


def wait_until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Starts a keeper in a thread."""
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(client, "_kept", [])
    scratch = ScratchDirectory("test", sockets=True)
    threads: list[threading.Thread] = []

    def start(idle_s: float = 60.0) -> threading.Thread:
        listener = socket.socket(socket.AF_UNIX)
        path = scratch.path / "socket"
        listener.bind(str(path))
        listener.listen()
        (tmp_path / ADDRESS).write_text(json.dumps({"socket": str(path)}))

        def serve() -> None:
            with listener:
                Keeper(listener, idle_s, start_holder).serve()

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[0].start()
        return threads[0]

    yield start
    runs_end()
    client.ask("end")
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    scratch.remove()


def runs_end() -> None:
    """As when the processes that were given something end."""
    while client._kept:
        client._kept.pop().close()


@pytest.fixture
def request_() -> SparkRequest:
    return SparkRequest.of_this_process({}, DEFAULT_LIMIT, sys.executable, "/spark")


def spare(state: str) -> Callable[[], bool]:
    return lambda: (client.ask("status") or {}).get("spare") == state


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_first_run_leaves_a_spare_for_the_second_which_has_it_alone(keeper, request_):
    keeper()
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no spare")
    taken = client.take(request_, 0)
    assert taken is not None
    assert client.take(request_, 0) is None, "two runs have one Spark"
    assert alive(taken["port"])
    runs_end()
    wait_until(lambda: not alive(taken["port"]), "a Spark has outlived its run")
    wait_until(spare("ready"), "there is no other spare")
    other = client.take(request_, 0)
    assert other is not None
    assert other["port"] != taken["port"]


def test_a_spare_that_is_being_started_is_waited_for(keeper, request_):
    keeper()
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(lambda: not spare("none")(), "nothing was started")
    assert client.take(request_, 0) is not None


def test_another_environment_gets_none_and_the_next_spare_is_like_it(keeper, request_):
    keeper()
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no spare")
    other = replace(request_, settings={"spark.app.name": "other"})
    assert client.take(other, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no spare")
    assert client.take(other, 0) is not None


def test_a_spare_that_was_killed_is_not_given_away(keeper, request_):
    keeper()
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no spare")
    killed = client.ask("status")["holder"]
    os.kill(killed, signal.SIGKILL)
    wait_until(spare("none"), "the killed one is still there")
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no other spare")


def test_what_cannot_start_is_not_waited_for(keeper, request_):
    keeper()
    failing = replace(request_, settings={"fail": "yes"})
    assert client.take(failing, 0) is None
    runs_end()
    wait_until(spare("none"), "a spare that cannot be")
    assert client.take(failing, 0) is None


def test_the_keeper_ends_by_itself_but_not_while_a_run_goes_on(keeper, request_):
    thread = keeper(idle_s=0.3)
    assert client.take(request_, 0) is None
    thread.join(1.0)
    assert thread.is_alive()
    runs_end()
    thread.join(120)
    assert not thread.is_alive()
    assert client.take(request_, 0) is None


def test_down_leaves_a_run_its_spark(keeper, request_):
    thread = keeper()
    assert client.take(request_, 0) is None
    runs_end()
    wait_until(spare("ready"), "there is no spare")
    taken = client.take(request_, 0)
    assert taken is not None
    told = client.ask("end")
    assert told["in_use"] == 1
    assert alive(taken["port"])
    runs_end()
    thread.join(120)
    assert not thread.is_alive()
    assert not alive(taken["port"])


def test_only_what_computes_counts(monkeypatch):
    def request() -> SparkRequest:
        return SparkRequest.of_this_process({}, DEFAULT_LIMIT, sys.executable, "/spark")

    first = request()
    monkeypatch.setenv("TERM", "another")
    monkeypatch.setenv("SHLVL", "7")
    assert request() == first
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    again = request()
    assert again.difference(first) == "environment"
    assert SparkRequest.from_json(json.loads(again.line())) == again


def test_a_process_of_its_own_answers_the_user_alone(tmp_path, monkeypatch, request_):
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path))
    keeper = client.start_keeper(60, replace(request_, python="/no/such/python"))
    try:
        wait_until(lambda: client.ask("status"), "no keeper answers")
        path = Path(json.loads((tmp_path / ADDRESS).read_text())["socket"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        second = client.start_keeper(60, request_)
        assert second.wait(120) == 0, "two keepers"
        assert client.ask("end") is not None
        keeper.stdin.close()
        assert keeper.wait(120) == 0
        assert not path.exists()
        assert not (tmp_path / ADDRESS).exists()
    finally:
        keeper.kill()
        keeper.wait()


def test_a_keeper_that_was_killed_is_none(tmp_path, monkeypatch, request_):
    monkeypatch.setenv("HEADRACE_RUN_DIR", str(tmp_path))
    keeper = client.start_keeper(60, request_)
    wait_until(lambda: client.ask("status"), "no keeper answers")
    keeper.kill()
    keeper.wait()
    assert client.ask("status") is None
    assert client.take(request_, 0) is None


def test_a_run_of_another_version_leaves_the_keeper_as_it_is(keeper, request_, monkeypatch):
    served = keeper()
    monkeypatch.setattr(SparkRequest, "to_json", lambda self: {"field": "of another version"})
    assert client.take(request_, 0) is None
    assert client.ask("status")["pid"] == os.getpid()
    assert served.is_alive()
