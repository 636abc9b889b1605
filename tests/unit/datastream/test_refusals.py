"""Refusals begin with PyFlink's words, which programs may look for, and go on with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Types
from headrace.common.errors import HeadraceError
from headrace.datastream.formats.avro import AvroRowSerializationSchema
from headrace.datastream.formats.csv import CsvRowSerializationSchema, CsvSchema
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.datastream.window import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

NO_TIMESTAMP = -9223372036854775808


class NoGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 0


def assigned(assigner: Any, timestamp: int) -> Callable[[], object]:
    context: Any = None
    return lambda: assigner.assign_windows("element", timestamp, context)


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (
            lambda: Types.ROW([Types.INT()]).to_internal_type(5),
            "Unexpected tuple 5 with RowTypeInfo",
        ),
        (
            lambda: Types.TUPLE([Types.INT()]).to_internal_type(5),
            "Unexpected tuple 5 with TupleTypeInfo",
        ),
        (
            lambda: EventTimeSessionWindows.with_gap(0),
            "EventTimeSessionWindows parameters must satisfy 0 < size",
        ),
        (
            lambda: ProcessingTimeSessionWindows.with_gap(0),
            "ProcessingTimeSessionWindows parameters must satisfy 0 < size",
        ),
        (
            lambda: SlidingEventTimeWindows.of(1, 1, 2),
            "SlidingEventTimeWindows parameters must satisfy abs(offset) < slide and size > 0",
        ),
        (
            assigned(TumblingEventTimeWindows.of(1), NO_TIMESTAMP),
            "Record has Java Long.MIN_VALUE timestamp (= no timestamp marker)",
        ),
        (
            assigned(EventTimeSessionWindows.with_dynamic_gap(NoGap()), 1),
            "Dynamic session time gap must satisfy 0 < gap",
        ),
        (
            lambda: CsvSchema.builder().set_column_separator(";;"),
            "Column separator must be a single char, got ;;",
        ),
        (
            lambda: CsvSchema.builder().set_quote_char("''"),
            "Quote char must be a single char, got ''",
        ),
        (
            lambda: CsvSchema.builder().set_escape_char("ab"),
            "Escape char must be a single char, got ab",
        ),
        (
            lambda: CsvRowSerializationSchema.Builder(None),  # type: ignore[arg-type]
            "Type information must not be None",
        ),
        (
            lambda: JsonRowDeserializationSchema.builder().json_schema(None),  # type: ignore[arg-type]
            "The json_schema must not be None",
        ),
        (lambda: JsonRowSerializationSchema.builder().build(), "Typeinfo should be set"),
        (
            lambda: AvroRowSerializationSchema(),
            "record_class or avro_schema_string should be specified",
        ),
    ],
)
def test_a_refusal_begins_with_the_words_of_pyflink(
    refused: Callable[[], object], words: str
) -> None:
    with pytest.raises(HeadraceError) as error:
        refused()
    assert str(error.value).startswith(words)
