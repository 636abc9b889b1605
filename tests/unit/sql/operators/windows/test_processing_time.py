"""Windows and sessions of processing time that get accumulators of a local phase."""

from __future__ import annotations

from operator import itemgetter

from headrace.sql import types as t
from headrace.sql.codegen.aggregates import AggregateCode, aggregate_code
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.operators.windows.specs import (
    SessionAggregateSpec,
    WindowAggregateSpec,
    WindowSlices,
)
from headrace.sql.plan.expressions import AggregateCall
from headrace.testing.harness import OperatorHarness


def counted() -> AggregateCode:
    return aggregate_code(
        [AggregateCall(builtin_registry().find("COUNT"), (), t.BigIntType(), "n")], False
    )


def test_accumulators_go_into_the_window_in_which_they_arrive() -> None:
    slices = WindowSlices("HOP", 20, 10, 0, 10)
    spec = WindowAggregateSpec(
        counted(), 1, slices, 0, ("start", "end"), merges=True, event_time=False
    )
    with OperatorHarness(spec, [itemgetter(0)], time=5) as h:
        h.process_many([("a", [2, 2]), ("b", [1, 1]), ("a", [3, 3])])
        h.advance_time(7)
        h.snapshot_and_restore()
        h.process_many([("a", [1, 1])])
        h.advance_time(30)
        assert sorted(h.output()) == [
            *(("a", 1, 10_000, 30_000), ("a", 5, -10_000, 10_000), ("a", 6, 0, 20_000)),
            *(("b", 1, -10_000, 10_000), ("b", 1, 0, 20_000)),
        ]


def test_sessions_begin_when_accumulators_arrive() -> None:
    spec = SessionAggregateSpec(
        counted(), 1, 10, 0, ("start", "end"), event_time=False, merges=True
    )
    with OperatorHarness(spec, [itemgetter(0)], time=5) as h:
        h.process_many([("a", [2, 2]), ("a", [3, 3])])
        h.advance_time(7)
        h.process_many([("a", [1, 1])])
        h.snapshot_and_restore()
        h.advance_time(8)
        assert h.output() == []
        h.advance_time(1)
        assert h.output() == [("a", 6, 5_000, 22_000)]
