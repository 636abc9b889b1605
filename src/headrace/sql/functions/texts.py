"""Functions of text and bytes."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.functions.registry import scalar
from headrace.sql.functions.signatures import ReturnRule
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import any_nullable, common_type, string_type


def _length(type_: DataType) -> int:
    return getattr(type_, "length", t.MAX_LENGTH)


def _joined(types: Sequence[DataType]) -> DataType | None:
    """Text as long as both together, fixed where both are."""
    length = min(sum(map(_length, types)), t.MAX_LENGTH)
    fixed = all(isinstance(x, t.CharType) for x in types)
    return t.CharType(length, False) if fixed else t.VarCharType(length, False)


def _part(types: Sequence[DataType]) -> DataType | None:
    """Text that is not longer; NULL may come out."""
    return t.VarCharType(_length(types[0]))


def _trimmed(types: Sequence[DataType]) -> DataType | None:
    """Text that is not longer."""
    return t.VarCharType(_length(types[0]), False)


def _overlaid(types: Sequence[DataType]) -> DataType | None:
    return t.VarCharType(min(sum(map(_length, types[:2])), t.MAX_LENGTH), False)


def _digest(length: int) -> ReturnRule:
    return lambda types: t.CharType(length, False)


def _digest_of_any(types: Sequence[DataType]) -> DataType | None:
    return t.VarCharType(128, False)


def _text_of_any(types: Sequence[DataType]) -> DataType | None:
    """Text that may be NULL where an argument may, even if only the first makes it so."""
    return string_type(any_nullable(types))


def _one_of(types: Sequence[DataType]) -> DataType | None:
    """One of the arguments behind the first, or NULL."""
    common = common_type(types[1:])
    return None if common is None else common.nullable()


def _str_map(types: Sequence[DataType]) -> DataType | None:
    return t.MapType(string_type(), string_type())


FUNCTIONS = [
    scalar("CHAR_LENGTH", "string", "int", "len({0})"),
    scalar("CHARACTER_LENGTH", "string", "int", "len({0})", table_name="charLength"),
    scalar("UPPER", "text", "arg0", "{0}.upper()"),
    scalar("LOWER", "text", "arg0", "{0}.lower()"),
    scalar("CONCAT", "string+", "string", "texts:concat"),
    scalar("CONCAT_OPERATOR", "text, text", _joined, "{0} + {1}", hidden=True),
    scalar("CONCAT_WS", "string, string*", _text_of_any, "texts:concat_ws", strict=False),
    scalar("SUBSTRING", "text, int, int?", _part, "texts:substring"),
    scalar("SUBSTR", "text, int, int?", _part, "texts:substring"),
    scalar("TRIM", "text", _trimmed, "{0}.strip(' ')"),
    scalar("TRIM_BOTH", "text, string", _trimmed, "{0}.strip({1})", hidden=True),
    scalar("TRIM_LEADING", "text, string", _trimmed, "{0}.lstrip({1})", hidden=True),
    scalar("TRIM_TRAILING", "text, string", _trimmed, "{0}.rstrip({1})", hidden=True),
    scalar("LTRIM", "text, string?", _trimmed, "texts:left_trim"),
    scalar("RTRIM", "text, string?", _trimmed, "texts:right_trim"),
    scalar("BTRIM", "string, string?", "string", "texts:both_trim"),
    scalar("POSITION", "string, string, int?", "int", "texts:locate"),
    scalar("LOCATE", "string, string, int?", "int", "texts:locate"),
    scalar("INSTR", "string, string, int?, int?", "int", "texts:instr"),
    scalar("REPLACE", "string, string, string", "string", "{0}.replace({1}, {2})"),
    scalar("OVERLAY", "text, text, int, int?", _overlaid, "texts:overlay"),
    scalar("LPAD", "string, int, string", "string", "texts:left_pad"),
    scalar("RPAD", "string, int, string", "string", "texts:right_pad"),
    scalar("LEFT", "text, int", _part, "texts:left"),
    scalar("RIGHT", "text, int", _part, "texts:right"),
    scalar("REPEAT", "string, int", "string", "{0} * {1}"),
    scalar("REVERSE", "string", "string?", "{0}[::-1]"),
    scalar("INITCAP", "text", "arg0", "texts:initcap"),
    scalar("ASCII", "string", "int", "texts:ascii_code"),
    scalar("CHR", "bigint", "string?", "texts:chr_of"),
    scalar("STARTSWITH", "string, string|binary, binary", "boolean", "{0}.startswith({1})"),
    scalar("ENDSWITH", "string, string|binary, binary", "boolean", "{0}.endswith({1})"),
    scalar("SPLIT_INDEX", "string, string, int", "string?", "texts:split_index"),
    scalar("SPLIT_INDEX", "string, int, int", "string?", "texts:split_index_code"),
    scalar("SPLIT", "string, string", "strings", "texts:split"),
    scalar("STR_TO_MAP", "string, string?, string?", _str_map, "texts:str_to_map"),
    scalar("LIKE", "string, string, string?", "boolean", "texts:like", hidden=True),
    scalar("SIMILAR", "string, string, string?", "boolean", "texts:similar", hidden=True),
    scalar("REGEXP", "string, string", "boolean", "texts:regexp"),
    scalar("REGEXP_REPLACE", "string, string, string", "string", "texts:regexp_replace"),
    scalar("REGEXP_EXTRACT", "string, string, int?", "string?", "texts:regexp_extract"),
    scalar("REGEXP_EXTRACT_ALL", "string, string, int?", "strings?", "texts:regexp_extract_all"),
    scalar("REGEXP_COUNT", "string, string", "int?", "texts:regexp_count"),
    scalar("REGEXP_SUBSTR", "string, string", "string?", "texts:regexp_substr"),
    scalar("REGEXP_INSTR", "string, string", "int?", "texts:regexp_instr"),
    scalar("MD5", "string", _digest(32), "texts:md5"),
    scalar("SHA1", "string", _digest(40), "texts:sha1"),
    scalar("SHA224", "string", _digest(56), "texts:sha224"),
    scalar("SHA256", "string", _digest(64), "texts:sha256"),
    scalar("SHA384", "string", _digest(96), "texts:sha384"),
    scalar("SHA512", "string", _digest(128), "texts:sha512"),
    scalar("SHA2", "string, int", _digest_of_any, "texts:sha2"),
    scalar("TO_BASE64", "string", "string", "texts:to_base64"),
    scalar("FROM_BASE64", "string", "string", "texts:from_base64"),
    scalar("PARSE_URL", "string, string, string?", "string?", "texts:parse_url"),
    scalar("URL_ENCODE", "string", "string?", "texts:url_encode"),
    scalar("URL_DECODE", "string", "string?", "texts:url_decode"),
    scalar("IS_ALPHA", "string", "boolean", "{0}.isalpha()"),
    scalar("IS_DECIMAL", "string", "boolean!", "texts:is_decimal", strict=False),
    scalar("IS_DIGIT", "string", "boolean", "{0}.isdigit()"),
    scalar("ELT", "int, text+|int, binary+", _one_of, "texts:elt", strict=False),
    scalar("PRINTF", "string, any*", "string?", "texts:printf", strict=False),
    scalar("TRANSLATE", "string, string, string", "string", "texts:translate"),
    scalar("ENCODE", "string, string", "bytes", "texts:encode"),
    scalar("DECODE", "bytes, string", "string", "texts:decode"),
]
