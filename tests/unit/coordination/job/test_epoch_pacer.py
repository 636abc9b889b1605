"""The budget of epochs follows what was measured."""

from __future__ import annotations

import pytest

from headrace.coordination.job.epoch_pacer import FIRST_LIVE_RECORDS, EpochPacer, Linger


def test_the_first_epoch_is_small() -> None:
    assert EpochPacer(1.0).max_records == 2_000
    assert EpochPacer(1.0, max_records=10).max_records == 10


def test_a_fast_program_reads_more() -> None:
    pacer = EpochPacer(1.0)
    pacer.observe(0.01, 2_000)
    assert pacer.max_records > 2_000


def test_a_slow_program_reads_less() -> None:
    pacer = EpochPacer(1.0)
    pacer.observe(100.0, 2_000)
    assert pacer.max_records < 2_000


def test_the_budget_never_leaves_its_bounds() -> None:
    pacer = EpochPacer(1.0, max_records=50)
    for work_s, share in ((0.001, 1.0), (1_000.0, 1.0), (1_000.0, 0.02), (5.0, 0.1)):
        pacer.observe(work_s, max(int(pacer.max_records * share), 1))
        assert 1 <= pacer.max_records <= 50


def test_a_source_that_ran_dry_in_good_time_tells_nothing() -> None:
    pacer = EpochPacer(1.0)
    pacer.observe(0.01, 5)
    assert pacer.max_records == 2_000


def test_an_epoch_without_records_tells_nothing() -> None:
    pacer = EpochPacer(1.0)
    pacer.observe(50.0, 0)
    assert pacer.max_records == 2_000


@pytest.mark.parametrize("rate", [1_000, 50_000, 2_000_000])
def test_the_budget_settles_at_the_rate_of_the_program(rate: int) -> None:
    pacer = EpochPacer(0.5)
    for _ in range(30):
        pacer.observe(pacer.max_records / rate, pacer.max_records)
    seconds = pacer.max_records / rate
    assert 0.4 <= seconds <= 3.0
    before = pacer.max_records
    pacer.observe(pacer.max_records / rate, pacer.max_records)
    assert pacer.max_records == pytest.approx(before, rel=0.1)


@pytest.mark.parametrize("record_s", [0.02, 0.2, 5.0])
def test_epochs_of_a_very_slow_program_take_no_longer_than_they_must(record_s: float) -> None:
    """A checkpoint waits for the end of an epoch."""
    pacer = EpochPacer(0.1, first_records=FIRST_LIVE_RECORDS)
    for _ in range(10):
        pacer.observe(pacer.max_records * record_s, pacer.max_records)
    assert pacer.max_records == 1 or pacer.max_records * record_s <= 0.5


def test_one_epoch_changes_the_budget_by_no_more_than_a_factor() -> None:
    pacer = EpochPacer(1.0)
    pacer.observe(1e-9, 2_000)
    assert pacer.max_records <= 2_000 * 1_000
    pacer = EpochPacer(1.0)
    pacer.observe(1e9, 2_000)
    assert pacer.max_records >= 2_000 / 10


def test_a_source_reads_for_the_target_at_most() -> None:
    assert EpochPacer(0.25).max_read_ms == 250
    assert EpochPacer(0.0).max_read_ms == 50


def test_without_an_exchange_only_time_limits_an_epoch() -> None:
    pacer = EpochPacer(1.0, exchanges=False)
    before = pacer.max_records
    pacer.observe(50.0, 2_000)
    assert pacer.max_records == before >= 1_000_000_000
    assert EpochPacer(1.0, 10, exchanges=False).max_records == 10


def linger_ms(per_second: float) -> float:
    """How long epochs wait for each other at a rate."""
    linger, started = Linger(0.002), 1000.0
    linger.observe(started, 0)
    for _ in range(20):
        began, started = started, linger.until
        linger.observe(started, round((started - began) * per_second))
    return (linger.until - started) * 1000


def test_live_epochs_wait_for_each_other_longer_where_records_are_few() -> None:
    assert linger_ms(1_000) == pytest.approx(24)
    assert 2 < linger_ms(5_000) < 10
    assert linger_ms(20_000) == pytest.approx(2)
    assert linger_ms(1_000_000) == pytest.approx(2)


def test_who_wants_epochs_far_apart_has_them_no_further_apart() -> None:
    linger = Linger(1.0)
    linger.observe(1000.0, 0)
    linger.observe(1001.0, 1)
    assert linger.until == pytest.approx(1002.0)
    assert linger.pause_s(1001.1, 0.3) == pytest.approx(0.3), "a checkpoint is due"
    assert linger.pause_s(1001.1, None) == pytest.approx(0.9)


def test_a_record_that_comes_alone_does_not_wait() -> None:
    linger = Linger(0.002)
    linger.observe(1000.0, 1)
    assert linger.until < 1000.1


def test_what_is_due_does_not_wait_for_records() -> None:
    linger = Linger(0.002)
    linger.observe(1000.0, 0)
    linger.observe(1001.0, 1)
    assert linger.pause_s(1001.001, None) == pytest.approx(0.023)
    assert linger.pause_s(1001.001, 0.004) == pytest.approx(0.004)
    assert linger.pause_s(1001.001, 0.0) == pytest.approx(0.001), "epochs are not too close"
    assert linger.pause_s(1001.005, 0.0) == 0.0
    assert linger.pause_s(1002.0, 5.0) == 0.0


@pytest.mark.parametrize(("records", "more"), [(0, False), (1, True), (0, True)])
def test_an_epoch_without_records_or_with_more_to_read_lets_the_next_one_start(
    records: int, more: bool
) -> None:
    linger = Linger(0.002)
    linger.observe(1000.0, 1)
    linger.observe(1001.0, records, more)
    assert linger.pause_s(1001.0, None) == pytest.approx(0.002)
