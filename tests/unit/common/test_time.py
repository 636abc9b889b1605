from __future__ import annotations

import datetime
import pickle

import pytest

from headrace.common import Duration, Instant, Time
from headrace.common.errors import FunctionTypeError
from headrace.common.time import to_millis


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_days(2), 172_800_000),
        (Duration.of_hours(1), 3_600_000),
        (Duration.of_minutes(3), 180_000),
        (Duration.of_seconds(20), 20_000),
        (Duration.of_millis(7), 7),
        (Duration.of_nanos(1_999_999), 1),
        (Duration.of_nanos(-1), -1),
    ],
)
def test_duration_in_millis(duration: Duration, millis: int) -> None:
    assert duration.to_millis() == to_millis(duration) == millis


def test_duration_equals_timedelta() -> None:
    delta = datetime.timedelta(seconds=1, microseconds=5)
    assert Duration.of(delta) == delta
    assert delta == Duration.of(delta)
    assert hash(Duration.of(delta)) == hash(delta)
    assert Duration.of(delta).to_timedelta() == delta
    assert Duration.of_nanos(1) != datetime.timedelta(0)


def test_durations_compare() -> None:
    assert Duration.of_seconds(1) < Duration.of_seconds(2)
    assert Duration.of_seconds(2) >= datetime.timedelta(seconds=2)
    assert Duration.of_millis(1000) == Duration.of_seconds(1)
    assert Duration.of_seconds(1) != 1000


def test_longest_duration_is_longer_than_any_timedelta() -> None:
    forever = Duration.of_millis(2**63 - 1)
    assert to_millis(forever) == 2**63 - 1
    assert forever > datetime.timedelta.max
    assert isinstance(hash(forever), int)


@pytest.mark.parametrize(
    ("duration", "iso", "call"),
    [
        (Duration.of_millis(0), "PT0S", "Duration.of_nanos(0)"),
        (Duration.of_minutes(90), "PT1H30M", "Duration.of_minutes(90)"),
        (Duration.of_millis(200), "PT0.2S", "Duration.of_millis(200)"),
        (Duration.of_days(1), "PT24H", "Duration.of_days(1)"),
        (Duration.of_nanos(5), "PT0.000000005S", "Duration.of_nanos(5)"),
        (Duration.of_seconds(-61), "PT-1M-1S", "Duration.of_seconds(-61)"),
    ],
)
def test_duration_text(duration: Duration, iso: str, call: str) -> None:
    assert (str(duration), repr(duration)) == (iso, call)
    assert eval(call) == duration


@pytest.mark.parametrize("value", [0.5, "1", None, True])
def test_fractions_are_refused(value: object) -> None:
    with pytest.raises(FunctionTypeError, match="whole number"):
        Duration.of_seconds(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.0005, float("nan"), float("inf"), "1", None, True])
def test_times_are_whole_milliseconds(value: object) -> None:
    assert Time.seconds(0.5) == Time.milliseconds(500)
    with pytest.raises(FunctionTypeError, match="whole number"):
        Time.seconds(value)  # type: ignore[arg-type]


def test_time() -> None:
    assert Time.days(1).to_milliseconds() == 86_400_000
    assert Time.hours(1) == Time.minutes(60) == Time.seconds(3600) == Time.milliseconds(3_600_000)
    assert str(Time.seconds(5)) == "5000 ms"
    assert Time.seconds(1) < Time.seconds(2)
    assert Time(5) != 5


@pytest.mark.parametrize("millis", [0, 1, 1_700_000_000_123, -1, -1500])
def test_instant_and_millis(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert 0 <= instant.nanos < 1_000_000_000
    assert instant.to_epoch_milli() == millis


def test_instant() -> None:
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    assert Instant(1, 2) == Instant(1, 2) != Instant(1, 3)
    assert Instant(1, 999) < Instant(2, 0)
    assert len({Instant(1, 2), Instant(1, 2)}) == 1


@pytest.mark.parametrize("value", [Duration.of_nanos(3), Instant(1, 2), Time.seconds(3)])
def test_pickle(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


def test_to_millis() -> None:
    assert to_millis(5) == 5
    assert to_millis(Time.seconds(1)) == 1000
    assert to_millis(datetime.timedelta(microseconds=1999)) == 1
    for wrong in ("5", 1.5, None, True):
        with pytest.raises(FunctionTypeError, match="gap must be"):
            to_millis(wrong, "gap")  # type: ignore[arg-type]
