"""Code for CAST, by the types on both sides."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.codegen.arithmetic import decimal_argument, wrapped
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.types import DataType
from headrace.sql.types.text import sql_text
from headrace.sql.types.type_rules import (
    interval_unit,
    is_binary,
    is_character,
    is_interval,
    is_timestamp,
)

_DAY = 86_400_000_000
_NOT_OF_TEXT = (
    t.ArrayType,
    t.BitmapType,
    t.MapType,
    t.RawType,
    t.RowType,
    t.VariantType,
)


def castable(source: DataType, target: DataType) -> bool:
    """Whether CAST is allowed."""
    if isinstance(source, t.NullType) or source.same_but_null(target):
        return True
    if isinstance(source, t.VariantType):
        return False
    if is_character(target):
        return True
    if is_character(source):
        return not isinstance(target, _NOT_OF_TEXT)
    if isinstance(source, t.NumericType | t.BooleanType):
        return isinstance(target, t.NumericType | t.BooleanType) or is_interval_of(source, target)
    if isinstance(source, t.DateType):
        return isinstance(target, t.DateType) or is_timestamp(target)
    if isinstance(source, t.TimeType):
        return isinstance(target, t.TimeType) or is_timestamp(target)
    if is_timestamp(source):
        return isinstance(target, t.DateType | t.TimeType) or is_timestamp(target)
    if is_binary(source):
        return is_binary(target)
    if isinstance(source, t.DayTimeIntervalType | t.YearMonthIntervalType):
        return type(source) is type(target) or isinstance(target, t.IntegralType)
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        return castable(source.element_type, target.element_type)
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        return castable(source.key_type, target.key_type) and castable(
            source.value_type, target.value_type
        )
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        pairs = zip(source.fields, target.fields, strict=False)
        return len(source) == len(target) and all(
            castable(a.data_type, b.data_type) for a, b in pairs
        )
    return isinstance(target, t.RawType)


def is_interval_of(source: DataType, target: DataType) -> bool:
    """Whole numbers may become intervals."""
    return isinstance(source, t.IntegralType) and isinstance(
        target, t.DayTimeIntervalType | t.YearMonthIntervalType
    )


def cast_code(
    writer: CodeWriter, code: str, source: DataType, target: DataType, lenient: bool = False
) -> str:
    """Code for the cast of a value that is not NULL."""
    if source.same_but_null(target) or isinstance(source, t.NullType):
        return code
    if is_character(target):
        return _to_text(writer, code, source, target)
    if is_character(source):
        return _from_text(writer, code, target, lenient)
    if isinstance(target, t.NumericType):
        return _to_number(writer, code, source, target)
    if isinstance(target, t.BooleanType):
        return f"{code} != 0"
    if is_binary(target):
        return _sized(writer, code, target, "to_binary", isinstance(target, t.BinaryType))
    if isinstance(target, t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType):
        return _to_time(writer, code, source, target)
    if is_interval_of(source, target):
        return f"{code} * {interval_unit(target)}"
    whole = _container(writer, code, source, target)
    return f"{writer.reference('casts:attempt')}(lambda: {whole})" if lenient else whole


def _sized(writer: CodeWriter, code: str, target: DataType, name: str, fixed: bool) -> str:
    length = target.length  # type: ignore[attr-defined]
    if length == t.MAX_LENGTH:
        return code
    if fixed:
        return f"{writer.reference(f'casts:{name}')}({code}, {length})"
    return f"{code}[:{length}]"


def _to_text(writer: CodeWriter, code: str, source: DataType, target: DataType) -> str:
    if is_character(source):
        text = code
    elif isinstance(source, t.IntegralType):
        text = f"str({code})"
    elif isinstance(source, t.BooleanType):
        text = f'("TRUE" if {code} else "FALSE")'
    elif isinstance(source, t.DoubleType):
        text = f"{writer.reference('headrace.sql.types.text:double_text')}({code})"
    elif isinstance(source, t.DecimalType):
        text = f"format({code}, 'f')"
    else:
        text = f"{writer.constant(TextOf(source, writer.zone))}({code})"
    fits = is_character(source) and source.length <= getattr(target, "length", 0)  # type: ignore[attr-defined]
    if fits and isinstance(target, t.VarCharType):
        return text
    return _sized(writer, text, target, "to_char", isinstance(target, t.CharType))


class TextOf:
    """The text of values of a type; loaded where it is used."""

    def __init__(self, type_: DataType, zone: str) -> None:
        self._arguments = (type_, zone)
        self._text = sql_text(type_, ZoneInfo(zone))

    def __call__(self, value: object) -> str:
        return self._text(value)

    def __reduce__(self) -> tuple[object, ...]:
        return TextOf, self._arguments


def _from_text(writer: CodeWriter, code: str, target: DataType, lenient: bool) -> str:
    if is_binary(target):
        return _sized(
            writer, f"{code}.encode()", target, "to_binary", isinstance(target, t.BinaryType)
        )
    parsed = _parsed(writer, code, target)
    if lenient:
        return parsed
    name = writer.temporary()
    failed = writer.reference("casts:failed")
    message = writer.constant(target.nullable().sql_text())
    return f"({name} if ({name} := {parsed}) is not None else {failed}({code}, {message}))"


def _parsed(writer: CodeWriter, code: str, target: DataType) -> str:
    """Code for the value of a text, None if it is not a value of the type."""
    if isinstance(target, t.IntegralType):
        return f"{writer.reference('casts:text_to_whole')}({code}, {target.bits})"
    if isinstance(target, t.DecimalType):
        function = writer.reference("casts:text_to_decimal")
        return f"{function}({code}, {target.precision}, {target.scale})"
    if isinstance(target, t.FloatType | t.DoubleType):
        return f"{writer.reference('casts:text_to_double')}({code})"
    if isinstance(target, t.BooleanType):
        return f"{writer.reference('casts:text_to_boolean')}({code})"
    if isinstance(target, t.DateType):
        return f"{writer.reference('times:parse_date')}({code})"
    if isinstance(target, t.TimeType):
        return f"{writer.reference('times:text_to_time')}({code}, {target.precision})"
    if not is_timestamp(target):
        raise SqlError(f"a text cannot be cast to {target.sql_text()}")
    precision = target.precision  # type: ignore[attr-defined]
    parse = f"{writer.reference('times:text_to_timestamp')}({code}, {precision})"
    if isinstance(target, t.LocalZonedTimestampType) and not _is_utc(writer):
        name = writer.temporary()
        to_instant = writer.reference("times:to_instant")
        zone = writer.zone_constant()
        return f"(None if ({name} := {parse}) is None else {to_instant}({zone}, {name}))"
    return parse


def _to_number(writer: CodeWriter, code: str, source: DataType, target: t.NumericType) -> str:
    if isinstance(source, t.BooleanType):
        code = f"int({code})"
        source = t.IntType(False)
    if isinstance(target, t.DecimalType):
        number = decimal_argument(writer, code, source)
        fit = writer.reference("arithmetic:fit_decimal")
        return f"{fit}({number}, {target.precision}, {target.scale})"
    if isinstance(target, t.FloatType):
        return f"{writer.reference('arithmetic:float32')}(float({code}))"
    if isinstance(target, t.DoubleType):
        return code if isinstance(source, t.FloatType) else f"float({code})"
    assert isinstance(target, t.IntegralType)
    if is_interval(source):
        code = f"int({code} / {interval_unit(source)})"
    if isinstance(source, t.FloatType | t.DoubleType):
        return f"{writer.reference('casts:double_to_whole')}({code}, {target.bits})"
    if isinstance(source, t.DecimalType):
        return f"{writer.reference('casts:decimal_to_whole')}({code}, {target.bits})"
    if isinstance(source, t.IntegralType) and source.bits <= target.bits:
        return code
    return wrapped(writer, code, target)


def _to_time(writer: CodeWriter, code: str, source: DataType, target: DataType) -> str:
    local = code
    zoned = isinstance(source, t.LocalZonedTimestampType)
    if isinstance(source, t.DateType):
        local = f"{code} * {_DAY}"
    if zoned and not isinstance(target, t.LocalZonedTimestampType) and not _is_utc(writer):
        local = f"{writer.reference('times:to_local')}({writer.zone_constant()}, {code})"
    if isinstance(target, t.DateType):
        return f"{local} // {_DAY}"
    if isinstance(target, t.TimeType):
        return _truncated(f"({local}) % {_DAY}", min(target.precision, 3), source)
    assert is_timestamp(target)
    if isinstance(target, t.LocalZonedTimestampType) and not zoned and not _is_utc(writer):
        local = f"{writer.reference('times:to_instant')}({writer.zone_constant()}, {local})"
    return _truncated(local, target.precision, source)  # type: ignore[attr-defined]


def _is_utc(writer: CodeWriter) -> bool:
    """Whether clocks of the session show UTC, so that nothing needs to be converted."""
    return writer.zone in ("UTC", "Etc/UTC")


def _truncated(code: str, precision: int, source: DataType) -> str:
    if precision >= min(getattr(source, "precision", 0), 6):
        return code
    unit = 10 ** (6 - precision)
    return f"({code}) // {unit} * {unit}"


def _container(writer: CodeWriter, code: str, source: DataType, target: DataType) -> str:
    """Arrays, maps and rows: a cast of their parts."""

    def part(name: str, inner: DataType, wanted: DataType) -> str:
        text = cast_code(writer, name, inner, wanted)
        return text if text == name else f"(None if {name} is None else {text})"

    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        name = writer.temporary()
        return (
            f"tuple([{part(name, source.element_type, target.element_type)} for {name} in {code}])"
        )
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        key, value = writer.temporary(), writer.temporary()
        keys = part(key, source.key_type, target.key_type)
        values = part(value, source.value_type, target.value_type)
        return f"{{{keys}: {values} for {key}, {value} in {code}.items()}}"
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        name = writer.atom(code)
        parts = []
        for i, (a, b) in enumerate(zip(source.fields, target.fields, strict=True)):
            parts.append(part(f"{name}[{i}]", a.data_type, b.data_type))
        return f"({', '.join(parts)},)"
    return code
