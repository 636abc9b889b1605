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
    one.begin(always)
    assert conf == {**before, **FRAME_BY_FRAME}
    one.end()
    one.end()
    assert conf == before


def test_jobs_have_them_one_after_the_other(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_by_frame, "_WAIT_S", 60.0)
    before, one, other = dict(conf), job(conf), job(conf)
    one.begin(always)
    began = threading.Event()
    waiting = threading.Thread(target=lambda: (other.begin(always), began.set()))
    waiting.start()
    assert not began.is_set()
    one.end()
    waiting.join()
    assert conf == {**before, **FRAME_BY_FRAME}
    other.end()
    assert conf == before


def test_who_does_not_wait_for_others_does_not_have_them(
    conf: Conf, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, one, other = dict(conf), job(conf), job(conf)
    assert one.begin(always)
    assert not other.begin(lambda: False), "its job was cancelled meanwhile"
    monkeypatch.setattr(frame_by_frame, "_WAIT_S", 0.0)
    assert not other.begin(always)
    other.end()
    assert conf == {**before, **FRAME_BY_FRAME}
    one.end()
    assert conf == before


def test_what_somebody_left_who_was_killed_is_removed(conf: Conf) -> None:
    conf.update(FRAME_BY_FRAME)
    one = job(conf)
    one.begin(always)
    one.end()
    assert conf == {"other": "1"}
