"""The last minutes of a job."""

from __future__ import annotations

from dataclasses import replace

from headrace.coordination.job.timeline import KEPT_SECONDS, Timeline
from headrace.graph.ids import EpochId, VertexId
from headrace.runtime.epoch import ChannelReport, EpochReport


def reports(records: int, channels: ChannelReport) -> list[EpochReport]:
    return [
        EpochReport(
            VertexId(name),
            0,
            EpochId(1),
            finished=False,
            operators=(),
            source=name == "source",
            records_read=records,
            records_sent=0,
            bytes_in=0,
            bytes_out=0,
            busy_ms=1.0,
            watermark=0,
            wake_up_at=None,
            channels=used,
        )
        for name, used in (("source", ChannelReport()), ("sink", channels))
    ]


def test_a_second_sums_up_its_epochs() -> None:
    timeline = Timeline()
    timeline.add(5_010, 0.0, 4.0, reports(98, ChannelReport(0.1, 0.0, 2, 0, 1.5, 100)))
    timeline.add(5_500, 0.0, 20.0, reports(2, ChannelReport(0.3, 0.2, 9, 4, 0.5, 10)))
    timeline.add(5_900, 0.0, 1.0, reports(0, ChannelReport()))
    assert timeline.moments() == (), "it is not over yet"
    timeline.add(7_000, 0.0, 1.0, reports(1, ChannelReport()))
    (moment,) = timeline.moments()
    assert (moment.time, moment.records, moment.epochs) == (5_000, 100, 3)
    assert (moment.p50, moment.p99) == (4.0, 20.0)
    assert (moment.alignment, moment.alignment_bytes) == (1.5, 110)
    assert (moment.in_usage, moment.out_usage) == (0.3, 0.2)


def test_records_wait_for_the_epoch_that_takes_them() -> None:
    """Those that came just before it hardly do, and the first ones have waited longest."""
    timeline = Timeline()
    timeline.add(5_000, 24.0, 2.0, reports(32, ChannelReport()))
    timeline.add(6_000, 0.0, 2.0, reports(1, ChannelReport()))
    (moment,) = timeline.moments()
    assert 2 + 24 / 4 < moment.p50 < 2 + 24 * 3 / 4
    assert 2 + 24 * 3 / 4 < moment.p99 < 2 + 24


def test_seconds_without_records_tell_how_long_epochs_took() -> None:
    timeline = Timeline()
    for took_ms in (3.0, 1.0, 2.0):
        timeline.add(5_000, 0.0, took_ms, reports(0, ChannelReport()))
    timeline.add(6_000, 0.0, 1.0, reports(0, ChannelReport()))
    (moment,) = timeline.moments()
    assert (moment.p50, moment.p99) == (2.0, 3.0)


def test_an_epoch_of_several_seconds_is_spread_over_them() -> None:
    timeline = Timeline()
    timeline.add(8_200, 0.0, 3_500.0, reports(100, ChannelReport()), watermark=7_000)
    timeline.add(9_000, 0.0, 10.0, reports(1, ChannelReport()))
    moments = timeline.moments()
    found = [(m.time, m.records) for m in moments]
    assert found == [(4_000, 8), (5_000, 29), (6_000, 28), (7_000, 29), (8_000, 6)]
    assert moments[-1].watermark == 7_000
    assert sum(m.epochs for m in moments) == 1


def test_epochs_of_nearly_two_seconds_leave_no_second_out() -> None:
    timeline = Timeline()
    for number in range(1, 11):
        timeline.add(1_900 * number, 0.0, 1_900.0, reports(1_900, ChannelReport()))
    assert {m.records for m in timeline.moments()} == {1_000}


def test_a_job_that_is_not_live_has_no_channels() -> None:
    timeline = Timeline()
    without = [replace(r, channels=None) for r in reports(5, ChannelReport())]
    timeline.add(5_000, 0.0, 1.0, without, watermark=4_000)
    timeline.add(6_000, 0.0, 1.0, without)
    (moment,) = timeline.moments()
    assert (moment.records, moment.watermark, moment.alignment) == (5, 4_000, 0.0)


def test_only_the_last_minutes_are_kept() -> None:
    timeline = Timeline()
    for second in range(KEPT_SECONDS + 10):
        timeline.add(second * 1000, 0.0, 1.0, reports(1, ChannelReport()))
    kept = timeline.moments()
    assert (len(kept), kept[-1].time) == (KEPT_SECONDS, (KEPT_SECONDS + 8) * 1000)
