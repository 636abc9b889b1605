"""Objects that programs make and look at before a job runs; nothing here needs one."""

import datetime
import pickle

from pyflink.common import Row, RowKind, Time, Types
from pyflink.common.time import Instant
from pyflink.datastream import AsyncRetryStrategy, async_retry_predicates
from pyflink.datastream.state import StateTtlConfig
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


def ms(number):
    return Time.milliseconds(number)


class Now:
    def get_current_processing_time(self):
        return 1234

    def get_runtime_context(self):
        return None


# --- rows as sequences
row, plain = Row(name="x", age=5), Row("x", 5)
print(repr(row), str(row), repr(plain), str(plain), len(row), list(row), row[0], row[-1])
print(row == Row(name="x", age=5), row == plain, row == ("x", 5), Row(1) == (1,), row != plain)
print(Row.of_kind(RowKind.DELETE, 1) == Row(1), "x" in row, "name" in row, Row("a", "b")(1, 2))
print(hash(row) == hash(Row(name="x", age=5)), hash(plain) == hash(Row("x", 5)))
print(row[0:1], plain[0:2], list(reversed(Row(1, 2))), bool(Row()), list(Row(z=1, a=2)))
row["name"] = plain[0] = "y"
print(row, plain, row.as_dict(), Row(None))
print(Row(a=Row(b=1), c=[Row(d=2)], e={"k": Row(f=1)}).as_dict(True))
print(Row(1, Row(2, [3]), {"a": Row(4)}), pickle.loads(pickle.dumps(Row(a=1, b=[2]))))
print(
    row.get_row_kind(), Row.of_kind(RowKind.UPDATE_BEFORE, 1, 2), row.get_fields_by_names(["age"])
)
print([(kind.name, kind.value, str(kind)) for kind in RowKind])
raises(lambda: hash(Row([1])), TypeError, "unhashable type: 'list'")

# --- points and amounts of time
print(Instant(5, 6), Instant.of_epoch_milli(1500), Instant.of_epoch_milli(-1), Instant(1, 0) == 5)
print(Instant(5, 6000000).to_epoch_milli(), Instant(5, 6).seconds, Instant(5, 6).nanos)
print(Time.days(1).to_milliseconds(), Time.hours(1) == Time.minutes(60), str(ms(5)))
print(Time.seconds(1.5).to_milliseconds() == 1500)

# --- windows
window = TimeWindow(0, 10)
print(window, repr(window), window.max_timestamp(), window == TimeWindow(0, 10), window == 5)
print(window.intersects(TimeWindow(10, 20)), window.intersects(TimeWindow(11, 20)))
print(window.cover(TimeWindow(5, 20)), window < TimeWindow(1, 2), window <= TimeWindow(0, 10))
print(sorted([TimeWindow(5, 6), TimeWindow(0, 1)]), CountWindow(3), CountWindow(3).max_timestamp())
print(GlobalWindow.get(), GlobalWindow.get() == GlobalWindow.get())
for timestamp, offset, size in ((0, 0, 7), (8, 0, 7), (-1, 0, 7), (-8, 3, 7), (13, -2, 5)):
    print(TimeWindow.get_window_start_with_offset(timestamp, offset, size))


# --- which windows a record is in
class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return len(element)


for assigner in (
    TumblingEventTimeWindows.of(ms(10)),
    TumblingEventTimeWindows.of(ms(10), ms(3)),
    SlidingEventTimeWindows.of(ms(10), ms(4)),
    SlidingEventTimeWindows.of(ms(3), ms(5)),
    EventTimeSessionWindows.with_gap(ms(10)),
    EventTimeSessionWindows.with_dynamic_gap(Gap()),
    TumblingProcessingTimeWindows.of(ms(10)),
    SlidingProcessingTimeWindows.of(ms(10), ms(5)),
    ProcessingTimeSessionWindows.with_gap(ms(10)),
):
    print(type(assigner).__name__, assigner.is_event_time())
    for timestamp in (17, 0, -1):
        print(list(assigner.assign_windows("abc", timestamp, Now())))
raises(
    lambda: TumblingEventTimeWindows.of(ms(10)).assign_windows("x", -(2**63), Now()),
    Exception,
    "Record has Java Long.MIN_VALUE timestamp (= no timestamp marker).",
)


# --- sessions that grow together
class Merged(MergingWindowAssigner.MergeCallback):
    def merge(self, to_be_merged, merge_result):
        print(sorted(to_be_merged), merge_result)


some = [TimeWindow(20, 25), TimeWindow(0, 5), TimeWindow(3, 9), TimeWindow(9, 12)]
EventTimeSessionWindows.with_gap(ms(5)).merge_windows(some, Merged())

# --- texts of assigners
for assigner in (
    TumblingEventTimeWindows.of(ms(1)),
    TumblingProcessingTimeWindows.of(ms(1)),
    SlidingEventTimeWindows.of(ms(4), ms(2)),
    SlidingProcessingTimeWindows.of(ms(4), ms(2)),
    EventTimeSessionWindows.with_gap(ms(3)),
    ProcessingTimeSessionWindows.with_gap(ms(3)),
    GlobalWindows.create(),
    CountTumblingWindowAssigner.of(3),
    CountSlidingWindowAssigner.of(4, 2),
):
    print(assigner)

# --- triggers
for result in TriggerResult:
    print(result.name, result.is_fire(), result.is_purge())
for trigger in (
    EventTimeTrigger.create(),
    ProcessingTimeTrigger.create(),
    CountTrigger.of(2),
    PurgingTrigger.of(CountTrigger.of(2)),
    NeverTrigger(),
    ContinuousEventTimeTrigger.of(ms(1)),
    ContinuousProcessingTimeTrigger.of(ms(1)),
):
    print(type(trigger).__name__, trigger.can_merge())

# --- retries
for strategy in (
    AsyncRetryStrategy.no_restart(),
    AsyncRetryStrategy.fixed_delay(3, 10, None, None),
    AsyncRetryStrategy.exponential_backoff(5, 10, 50, 2, None, None),
):
    print([strategy.can_retry(attempt) for attempt in range(1, 8)])
    print([strategy.get_backoff_time_millis(attempt) for attempt in range(1, 6)])
print([async_retry_predicates.empty_result_predicate(result) for result in ([], None, [1])])
print([async_retry_predicates.has_exception_predicate(e) for e in (ValueError(), None)])
print(async_retry_predicates.exception_type_predicate(ValueError(), Exception))

# --- time to live
first = StateTtlConfig.new_builder(Time.seconds(1)).build()
print(first)
print(first.get_cleanup_strategies().is_cleanup_in_background())
print(first.get_cleanup_strategies().in_full_snapshot())
second = (
    StateTtlConfig.new_builder(Time.seconds(1))
    .set_update_type(StateTtlConfig.UpdateType.Disabled)
    .return_expired_if_not_cleaned_up()
    .cleanup_incrementally(7, True)
    .cleanup_in_rocksdb_compact_filter(99)
    .build()
)
print(second, second.is_enabled())
cleanup = second.get_cleanup_strategies()
print(cleanup.get_incremental_cleanup_strategy().get_cleanup_size())
print(cleanup.get_incremental_cleanup_strategy().run_cleanup_for_every_record())
print(cleanup.get_rocksdb_compact_filter_cleanup_strategy().get_query_time_after_num_entries())

# --- values inside of types
print(Types.SQL_DATE().to_internal_type(datetime.date(1970, 1, 5)))
print(Types.SQL_TIME().to_internal_type(datetime.time(0, 0, 1, 5000)))
print(Types.SQL_DATE().from_internal_type(4), Types.SQL_TIME().from_internal_type(1005000))
for type_ in (
    Types.INT(),
    Types.SQL_TIME(),
    Types.ROW([Types.SQL_DATE()]),
    Types.LIST(Types.INT()),
):
    print(type_, type_.need_conversion())
