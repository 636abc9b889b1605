"""Settings that live jobs of one JVM need for a moment."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkFiles

from headrace.spark.live import frame_by_frame
from headrace.spark.live.frame_by_frame import FRAME_BY_FRAME, FrameByFrame


def always() -> bool:
    return True


class Conf(dict[str, str]):
    """As Spark's, as far as it is used."""

    def contains(self, key: str) -> bool:
        return key in self

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def remove(self, key: str) -> None:
        del self[key]


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conf:
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    return Conf({"spark.buffer.size": "4096", "other": "1"})


def job(conf: Conf) -> FrameByFrame:
    context: Any = SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(conf=lambda: conf))
    )
    return FrameByFrame(context)


def test_they_are_set_for_a_moment(conf: Conf) -> None:
    before, one = dict(conf), job(conf)
    one.begin("one", always)
    assert conf == {**before, **FRAME_BY_FRAME}
    one.end("one")
    one.end("one")
    assert conf == before


def test_jobs_have_them_one_after_the_other(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_by_frame, "_WAIT_S", 60.0)
    before, one, other = dict(conf), job(conf), job(conf)
    one.begin("one", always)
    began = threading.Event()
    waiting = threading.Thread(target=lambda: (other.begin("other", always), began.set()))
    waiting.start()
    assert not began.is_set()
    one.end("one")
    waiting.join()
    assert conf == {**before, **FRAME_BY_FRAME}
    other.end("other")
    assert conf == before


def test_who_does_not_wait_for_others_does_not_have_them(
    conf: Conf, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, one, other = dict(conf), job(conf), job(conf)
    assert one.begin("one", always)
    assert not other.begin("other", lambda: False), "its job was cancelled meanwhile"
    monkeypatch.setattr(frame_by_frame, "_WAIT_S", 0.0)
    assert not other.begin("other", always)
    other.end("other")
    assert conf == {**before, **FRAME_BY_FRAME}
    one.end("one")
    assert conf == before


def test_what_somebody_left_who_was_killed_is_removed(conf: Conf) -> None:
    conf.update(FRAME_BY_FRAME)
    one = job(conf)
    one.begin("one", always)
    one.end("one")
    assert conf == {"other": "1"}


def test_who_began_before_does_not_end_what_another_one_has_begun(conf: Conf) -> None:
    before, one = dict(conf), job(conf)
    one.begin("first", always)
    one.begin("second", always)
    one.end("first")
    assert conf == {**before, **FRAME_BY_FRAME}
    one.end("second")
    assert conf == before


class Failing(Conf):
    """Takes one setting."""

    def set(self, key: str, value: str) -> None:
        if value == list(FRAME_BY_FRAME.values())[-1]:
            raise ConnectionError("the JVM is gone")
        super().set(key, value)


def test_others_do_not_wait_for_one_that_could_not_set_them(conf: Conf) -> None:
    failing = Failing(conf)
    with pytest.raises(ConnectionError):
        job(failing).begin("one", always)
    assert failing == conf
    other = job(conf)
    assert other.begin("other", always)
    other.end("other")
