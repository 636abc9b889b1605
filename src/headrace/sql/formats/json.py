"""JSON, one object for each row."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql import types as t
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions, decimal_text
from headrace.sql.functions.builtin.arithmetic import fit_decimal, float32
from headrace.sql.functions.builtin.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types import DataType, RowType
from headrace.sql.types.text import date_text, time_text, timestamp_text

OPTIONS = (
    "fail-on-missing-field",
    "ignore-parse-errors",
    "timestamp-format.standard",
    "map-null-key.mode",
    "map-null-key.literal",
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
    "decode.json-parser.enabled",
)

Convert = Callable[[Any], Any]


def decoder(row_type: RowType, options: FormatOptions) -> Decoder:
    """Reads objects."""
    return JsonDecoder(row_type, options)


def encoder(row_type: RowType, options: FormatOptions) -> Encoder:
    """Writes objects."""
    return JsonEncoder(row_type, options)


def _is_iso(options: FormatOptions) -> bool:
    standards = ("SQL", "ISO-8601")
    return options.choice("timestamp-format.standard", "SQL", standards) == "ISO-8601"


class JsonDecoder(Decoder):
    """Fields by name; those that are missing are NULL."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._arguments = (row_type, options)
        self._ignore = options.flag("ignore-parse-errors")
        self._fail_on_missing = options.flag("fail-on-missing-field")
        if self._ignore and self._fail_on_missing:
            raise SqlError("fail-on-missing-field and ignore-parse-errors shouldn't both be true.")
        iso = _is_iso(options)
        self._fields = [
            (f.name, _reader(f.data_type, iso), f.data_type.is_nullable) for f in row_type.fields
        ]

    def __reduce__(self) -> Any:
        return JsonDecoder, self._arguments

    def decode(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        out = []
        for message in messages:
            if not message or not message.strip():
                continue
            try:
                out.append(self._row(json.loads(message, parse_float=_number)))
            except Exception as error:
                if self._ignore:
                    continue
                raise HeadraceError(
                    f"Failed to deserialize JSON {str(message)[:200]!r}: {error}; "
                    "'json.ignore-parse-errors' = 'true' skips such rows"
                ) from error
        return out

    def _row(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, dict):
            raise ValueError(f"an object is expected, not {type(value).__name__}")
        cells: list[Any] = []
        for name, read, _ in self._fields:
            found = value.get(name)
            if found is None:
                if self._fail_on_missing and name not in value:
                    raise ValueError(f"Could not find field with name '{name}'")
                cells.append(None)
                continue
            try:
                cells.append(read(found))
            except Exception:
                if not self._ignore:
                    raise
                cells.append(None)
        return tuple(cells)


class _Exact(float):
    """A float that remembers its text, for DECIMAL."""

    text: str


def _number(text: str) -> float:
    value = _Exact(text)
    value.text = text
    return value


def _misfit(value: Any, type_: DataType) -> Exception:
    return ValueError(f"{value!r} is not of type {type_.sql_text()}")


def _reader(type_: DataType, iso: bool) -> Convert:
    if isinstance(type_, t.BooleanType):
        return lambda v: v if isinstance(v, bool) else str(v).strip().lower() == "true"
    if isinstance(type_, t.IntegralType):
        return _whole(type_)
    if isinstance(type_, t.FloatType):
        return lambda v: float32(float(v))
    if isinstance(type_, t.DoubleType):
        return lambda v: float(v) + 0.0
    if isinstance(type_, t.DecimalType):
        return lambda v: fit_decimal(
            Decimal(getattr(v, "text", None) or str(v)), type_.precision, type_.scale
        )
    if isinstance(type_, t.CharType | t.VarCharType):
        return lambda v: v if isinstance(v, str) else json.dumps(v, separators=(",", ":"))
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return base64.b64decode
    if isinstance(type_, t.DateType):
        return _parsed(parse_date, type_)
    if isinstance(type_, t.TimeType):
        return _parsed(parse_time, type_)
    if isinstance(type_, t.TimestampType):
        return _parsed(lambda v: _timestamp(v, iso), type_)
    if isinstance(type_, t.LocalZonedTimestampType):
        return _parsed(lambda v: _timestamp(v.rstrip("Z"), iso), type_)
    return _container(type_, iso)


def _whole(type_: t.IntegralType) -> Convert:
    low, high = -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1

    def whole(value: Any) -> int:
        number = int(value) if not isinstance(value, bool) else -1
        if isinstance(value, bool) or not low <= number <= high:
            raise _misfit(value, type_)
        return number

    return whole


def _parsed(parse: Callable[[str], Any], type_: DataType) -> Convert:
    def read(value: Any) -> Any:
        found = parse(value)
        if found is None:
            raise _misfit(value, type_)
        return found

    return read


def _or_null(read: Convert) -> Convert:
    return lambda v: None if v is None else read(v)


def _container(type_: DataType, iso: bool) -> Convert:
    if isinstance(type_, t.RowType):
        fields = [(f.name, _or_null(_reader(f.data_type, iso))) for f in type_.fields]
        return lambda v: tuple([read(v.get(name)) for name, read in fields])
    if isinstance(type_, t.MultisetType):
        return lambda v: {k: int(n) for k, n in v.items()}
    if isinstance(type_, t.ArrayType):
        element = _or_null(_reader(type_.element_type, iso))
        return lambda v: tuple([element(x) for x in v])
    if isinstance(type_, t.MapType):
        key, value = _reader(type_.key_type, iso), _or_null(_reader(type_.value_type, iso))
        return lambda v: {key(a): value(b) for a, b in v.items()}
    raise SqlError(f"JSON has no {type_.sql_text()}")


def _timestamp(text: str, iso: bool) -> int | None:
    """A timestamp with what the standard has between date and time: `T` or a blank."""
    return parse_timestamp(text) if ("T" in text) == iso else None


@dataclass(frozen=True)
class _Style:
    """How values are written.

    Attributes:
        iso: Timestamps as ISO-8601 has them.
        short_decimals: Without zeros at the end, and with an exponent where that is shorter.
        null_keys: What becomes of NULL in the keys of a map: `FAIL`, `DROP` or `LITERAL`.
        null_key: The key in place of NULL.
    """

    iso: bool = False
    short_decimals: bool = True
    null_keys: str = "FAIL"
    null_key: str = "null"


def _style(options: FormatOptions) -> _Style:
    return _Style(
        _is_iso(options),
        not options.flag("encode.decimal-as-plain-number"),
        options.choice("map-null-key.mode", "FAIL", ("FAIL", "DROP", "LITERAL")),
        options.text("map-null-key.literal", "null"),
    )


class JsonEncoder(Encoder):
    """Objects with all fields in order."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._arguments = (row_type, options)
        self._skip_null = options.flag("encode.ignore-null-fields")
        style = _style(options)
        self._fields = [(f.name, _writer(f.data_type, style)) for f in row_type.fields]

    def __reduce__(self) -> Any:
        return JsonEncoder, self._arguments

    def encode(self, rows: list[tuple[Any, ...]]) -> list[str]:
        return [self._line(row) for row in rows]

    def _line(self, row: tuple[Any, ...]) -> str:
        parts = []
        for (name, write), value in zip(self._fields, row, strict=False):
            if value is None and self._skip_null:
                continue
            parts.append(f"{json.dumps(name)}:{'null' if value is None else write(value)}")
        return "{" + ",".join(parts) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _writer(type_: DataType, style: _Style) -> Callable[[Any], str]:
    if isinstance(type_, t.BooleanType):
        return lambda v: "true" if v else "false"
    if isinstance(type_, t.FloatType | t.DoubleType):
        from headrace.sql.types.text import double_text, float_text

        text = double_text if isinstance(type_, t.DoubleType) else float_text
        # JSON has no such numbers; Flink writes their names.
        return lambda v: text(v) if math.isfinite(v) else _quoted(text(v))
    if isinstance(type_, t.IntegralType | t.YearMonthIntervalType | t.DayTimeIntervalType):
        return str
    if isinstance(type_, t.DecimalType):
        return decimal_text if style.short_decimals else "{:f}".format
    if isinstance(type_, t.VariantType):
        return str
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return lambda v: _quoted(base64.b64encode(v).decode())
    if isinstance(type_, t.DateType):
        return lambda v: _quoted(date_text(v))
    if isinstance(type_, t.TimeType):
        return lambda v: _quoted(time_text(v, type_.precision))
    if isinstance(type_, t.TimestampType):
        between = "T" if style.iso else " "
        return lambda v: _quoted(_stamp(v).replace(" ", between))
    if isinstance(type_, t.LocalZonedTimestampType):
        between = "T" if style.iso else " "
        return lambda v: _quoted(_stamp(v).replace(" ", between) + "Z")
    if isinstance(type_, t.RowType):
        fields = [(json.dumps(f.name), _null_or(_writer(f.data_type, style))) for f in type_.fields]
        return lambda v: (
            "{" + ",".join(f"{n}:{w(x)}" for (n, w), x in zip(fields, v, strict=True)) + "}"
        )
    if isinstance(type_, t.ArrayType) and not isinstance(type_, t.MultisetType):
        element = _null_or(_writer(type_.element_type, style))
        return lambda v: "[" + ",".join(map(element, v)) + "]"
    if isinstance(type_, t.MultisetType):
        return lambda v: "{" + ",".join(f"{_quoted(str(k))}:{n}" for k, n in v.items()) + "}"
    if isinstance(type_, t.MapType):
        return _map_writer(_null_or(_writer(type_.value_type, style)), style)
    return lambda v: _quoted(str(v))


def _map_writer(value: Callable[[Any], str], style: _Style) -> Callable[[Any], str]:
    def write(entries: dict[Any, Any]) -> str:
        if None in entries:
            entries = _without_null_key(entries, style)
        pairs = [f"{_quoted(str(k))}:{value(x)}" for k, x in entries.items()]
        return "{" + ",".join(pairs) + "}"

    return write


def _without_null_key(entries: dict[Any, Any], style: _Style) -> dict[Any, Any]:
    if style.null_keys == "FAIL":
        raise HeadraceError(
            "JSON format doesn't support to serialize map data with null keys. You can drop null "
            "key entries or encode null in literals by specifying map-null-key.mode option."
        )
    kept = {k: v for k, v in entries.items() if k is not None}
    return kept if style.null_keys == "DROP" else {**kept, style.null_key: entries[None]}


def value_writer(type_: DataType, null_keys: str = "FAIL") -> Callable[[Any], str]:
    """Makes JSON of values that are not NULL, as JSON_OBJECT and JSON_STRING do."""
    return _writer(type_, _Style(iso=True, short_decimals=False, null_keys=null_keys))


def _null_or(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda v: "null" if v is None else write(v)


def _stamp(micros: int) -> str:
    """Without zeros at the end of the fraction."""
    text = timestamp_text(micros, 6).rstrip("0")
    return text.rstrip(".")
