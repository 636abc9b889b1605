"""Functions of dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.functions.registry import scalar
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_timestamp


def _floored(types: Sequence[DataType]) -> DataType | None:
    return types[0]


def _watermark(types: Sequence[DataType]) -> DataType | None:
    return types[0].nullable() if is_timestamp(types[0]) else None


FUNCTIONS = [
    scalar("CURRENT_TIMESTAMP", "", "ltz3!", "times:now", deterministic=False),
    scalar("NOW", "", "ltz3!", "times:now", deterministic=False),
    scalar("CURRENT_ROW_TIMESTAMP", "", "ltz3!", "times:now", deterministic=False),
    scalar("PROCTIME", "", "ltz3!", "times:now", deterministic=False),
    scalar("LOCALTIMESTAMP", "", "timestamp3!", "times:now_local", deterministic=False, zoned=True),
    scalar("CURRENT_DATE", "", "date!", "times:today", deterministic=False, zoned=True),
    scalar("CURRENT_TIME", "", "time!", "times:time_now", deterministic=False, zoned=True),
    scalar("LOCALTIME", "", "time!", "times:time_now", deterministic=False, zoned=True),
    scalar("UNIX_TIMESTAMP", "", "bigint!", "times:unix_now", deterministic=False),
    scalar("UNIX_TIMESTAMP", "string, string?", "bigint", "times:unix_timestamp", zoned=True),
    scalar("FROM_UNIXTIME", "bigint, string?", "string?", "times:from_unixtime", zoned=True),
    scalar("TO_TIMESTAMP", "string, string?", "timestamp3?", "times:to_timestamp"),
    scalar("TO_TIMESTAMP_LTZ", "bigint, int?|double, int?", "ltz3?", "times:to_timestamp_ltz"),
    scalar("TO_TIMESTAMP_LTZ", "string, string?, string?", "ltz3?", "times:text_to_ltz"),
    scalar("TO_DATE", "string, string?", "date?", "times:to_date"),
    scalar("DATE_FORMAT", "local, string|string, string", "string?", "times:date_format"),
    scalar("DATE_FORMAT", "instant, string", "string?", "times:date_format_ltz", zoned=True),
    scalar("CONVERT_TZ", "string, string, string", "string?", "times:convert_tz"),
    scalar("EXTRACT", "string, any", "bigint", "times:extract"),
    scalar("EXTRACT_INTERVAL", "string, any", "bigint", "times:extract_interval", hidden=True),
    scalar("FLOOR_TIME", "any, string", _floored, "times:floor_time", hidden=True),
    scalar("CEIL_TIME", "any, string", _floored, "times:ceil_time", hidden=True),
    scalar("TIMESTAMPDIFF", "string, any, any", "int", "times:timestamp_diff"),
    scalar("TIME_BETWEEN", "string, any, any", "bigint", "times:timestamp_diff", hidden=True),
    scalar("CURRENT_WATERMARK", "any", _watermark, strict=False, deterministic=False),
    scalar("SOURCE_WATERMARK", "", "ltz3?", strict=False),
]
