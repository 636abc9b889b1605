"""Results of the SQL gateway: pages with tokens, and rows as JSON."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.cluster.sql_gateway.logical_types import column_type_of, logical_type
from headrace.cluster.sql_gateway.operation import Operation, OperationResult, OperationStatus
from headrace.cluster.sql_gateway.result_json import results_json
from headrace.cluster.sql_gateway.result_pages import ResultPages
from headrace.common.errors import ConfigurationError
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types.data_types import DataTypes

LIMIT_S = 120.0


def numbers(count: int) -> Iterator[tuple[int, tuple[int]]]:
    return ((0, (n,)) for n in range(count))


def all_pages(pages: ResultPages) -> list[int]:
    found: list[int] = []
    token: int | None = 0
    while token is not None:
        rows, token = pages.page(token)
        found += [row[0] for _, row in rows]
    return found


def test_rows_come_in_order_and_a_page_can_be_asked_for_twice() -> None:
    pages = ResultPages(numbers(10_000), lambda: None, most=100)
    assert all_pages(pages) == list(range(10_000))
    assert pages.ended
    pages = ResultPages(numbers(3), lambda: None, most=2)
    first = pages.page(0)
    assert pages.page(0) == first
    with pytest.raises(ConfigurationError, match="the token is 0 or 1 now, not 5"):
        pages.page(5)


def test_only_so_many_rows_wait() -> None:
    taken, enough, closed = [0], threading.Event(), threading.Event()

    def endless() -> Iterator[tuple[int, tuple[int]]]:
        while True:
            taken[0] += 1
            if taken[0] == 11:
                enough.set()
            yield 0, (taken[0],)

    pages = ResultPages(endless(), closed.set, most=10)
    assert enough.wait(LIMIT_S)
    # Ten wait, and one is in the hand of the thread that brings them.
    assert taken[0] == 11
    assert len(pages.page(0)[0]) == 10
    pages.close()
    assert closed.is_set()


def test_the_rows_before_an_error_are_handed_out() -> None:
    def failing() -> Iterator[tuple[int, tuple[int]]]:
        yield 0, (1,)
        raise ConfigurationError("it broke")

    pages = ResultPages(failing(), lambda: None)
    assert pages.page(0)[0] == [(0, (1,))]
    with pytest.raises(ConfigurationError, match="it broke"):
        all_pages(pages)


class Job:
    """As much of a job's client as an operation needs."""

    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def operation_with(job: Job, go_on: threading.Event) -> Operation:
    """An INSERT that was submitted and waits."""
    submitted = threading.Event()

    def run(operation: Operation) -> OperationResult:
        operation.begins()
        operation.started(job)  # type: ignore[arg-type]
        submitted.set()
        go_on.wait(LIMIT_S)
        return OperationResult(Schema(()), ResultPages(iter([]), lambda: None), "UTC")

    operation = Operation(run)
    operation.start()
    assert submitted.wait(LIMIT_S)
    return operation


def test_the_job_of_an_insert_ends_with_it_until_its_id_was_told() -> None:
    job, go_on = Job(), threading.Event()
    operation = operation_with(job, go_on)
    assert operation.cancel() is OperationStatus.CANCELED
    assert job.cancelled
    go_on.set()
    job = Job()
    operation = operation_with(job, go_on)
    operation.wait()
    operation.close()
    assert operation.status is OperationStatus.CLOSED
    assert not job.cancelled
    late = Job()
    operation.started(late)  # type: ignore[arg-type]
    assert late.cancelled


def micros(*time: int) -> int:
    moment = datetime.datetime(*time, tzinfo=datetime.UTC)  # type: ignore[misc]
    return int(moment.timestamp()) * 1_000_000


VALUES: list[tuple[Any, Any, Any, str]] = [
    (DataTypes.BOOLEAN(), True, True, "TRUE"),
    (DataTypes.INT(), -7, -7, "-7"),
    (DataTypes.BIGINT(), 2**62, 2**62, str(2**62)),
    (DataTypes.DOUBLE(), 2.5, 2.5, "2.5"),
    (DataTypes.DOUBLE(), float("nan"), "NaN", "NaN"),
    (DataTypes.DECIMAL(5, 2), Decimal("1.50"), 1.5, "1.50"),
    (DataTypes.STRING(), 'a "b" ü', 'a "b" ü', 'a "b" ü'),
    (DataTypes.BYTES(), b"\x00\xff", "AP8=", "x'00ff'"),
    (DataTypes.DATE(), 1, "1970-01-02", "1970-01-02"),
    (
        DataTypes.TIMESTAMP(3),
        micros(2026, 1, 2, 3, 4, 5),
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05.000",
    ),
    (
        DataTypes.TIMESTAMP_LTZ(3),
        micros(2026, 1, 2, 3, 4, 5),
        "2026-01-02T04:04:05Z",
        "2026-01-02 04:04:05.000",
    ),
    (DataTypes.ARRAY(DataTypes.INT()), (1, None), [1, None], "[1, NULL]"),
    (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {"a": 1}, {"a": 1}, "{a=1}"),
    (DataTypes.MAP(DataTypes.INT(), DataTypes.INT()), {None: 1}, {"null": 1}, "{NULL=1}"),
    (DataTypes.MULTISET(DataTypes.STRING()), {"a": 2}, {"a": 2}, "{a=2}"),
    (
        DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]),
        (1,),
        {"x": 1},
        "(1)",
    ),
    (DataTypes.INT(), None, None, None),  # type: ignore[list-item]
]


def test_rows_are_json_or_text() -> None:
    schema = Schema(tuple(Field(f"c{i}", v[0]) for i, v in enumerate(VALUES)))
    rows = [(3, tuple(v[1] for v in VALUES))]
    for row_format, place in (("JSON", 2), ("PLAIN_TEXT", 3)):
        results = json.loads(results_json(schema, rows, row_format, "Europe/Berlin"))
        (row,) = results["data"]
        assert (row["kind"], row["fields"]) == ("DELETE", [v[place] for v in VALUES])


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (DataTypes.INT().not_null(), {"type": "INTEGER", "nullable": False}),
        (DataTypes.CHAR(3), {"type": "CHAR", "nullable": True, "length": 3}),
        (
            DataTypes.TIMESTAMP_LTZ(3),
            {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "nullable": True, "precision": 3},
        ),
        (DataTypes.TIME(), {"type": "TIME_WITHOUT_TIME_ZONE", "nullable": True, "precision": 0}),
        (
            DataTypes.DECIMAL(9, 6),
            {"type": "DECIMAL", "nullable": True, "precision": 9, "scale": 6},
        ),
        (DataTypes.NULL(), {"type": "NULL"}),
        (
            DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()),
            {
                "type": "INTERVAL_YEAR_MONTH",
                "nullable": True,
                "precision": 2,
                "resolution": "YEAR_TO_MONTH",
            },
        ),
        (
            DataTypes.MAP(DataTypes.DATE(), DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])),
            {
                "type": "MAP",
                "nullable": True,
                "keyType": {"type": "DATE", "nullable": True},
                "valueType": {
                    "type": "ROW",
                    "nullable": True,
                    "fields": [{"name": "x", "fieldType": {"type": "INTEGER", "nullable": True}}],
                },
            },
        ),
    ],
)
def test_types_have_flinks_form(type_: Any, expected: dict[str, Any]) -> None:
    assert logical_type(type_) == expected


def test_a_client_knows_how_wide_a_column_is() -> None:
    for type_ in (DataTypes.TIMESTAMP(3), DataTypes.DECIMAL(9, 6), DataTypes.BIGINT()):
        assert column_type_of(logical_type(type_)) == type_
    assert column_type_of(logical_type(DataTypes.BYTES())) == DataTypes.STRING()
