"""Functions of text. Positions are from 1, as in SQL."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import urllib.parse
from functools import lru_cache
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.java.patterns import java_pattern
from headrace.common.java.text import double_text


def concat(*parts: str) -> str:
    return "".join(parts)


def concat_ws(separator: str | None, *parts: str | None) -> str | None:
    """Parts that are not NULL, with a separator between them."""
    return None if separator is None else separator.join(p for p in parts if p is not None)


def substring(text: str, start: int, length: int | None = None) -> str | None:
    if length is not None and length < 0:
        return None
    if start > 0:
        first = start - 1
    elif start < 0:
        first = len(text) + start
        if first < 0:
            return ""
    else:
        first = 0
    return text[first:] if length is None else text[first : first + length]


def left_trim(text: str, characters: str = " ") -> str:
    return text.lstrip(characters)


def right_trim(text: str, characters: str = " ") -> str:
    return text.rstrip(characters)


def both_trim(text: str, characters: str = " ") -> str:
    return text.strip(characters)


def locate(part: str, text: str, start: int = 1) -> int:
    """An empty part is always at the start."""
    return text.find(part, max(start - 1, 0)) + 1 if part else 1


def instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    if start == 0 or occurrence < 1:
        return 0
    found = -1
    if start > 0:
        position = start - 1
        for _ in range(occurrence):
            found = text.find(part, position)
            if found < 0:
                return 0
            position = found + 1
    else:
        end = len(text) + start + len(part)
        for _ in range(occurrence):
            found = text.rfind(part, 0, end)
            if found < 0:
                return 0
            end = found + len(part) - 1
    return found + 1


def overlay(text: str, other: str, start: int, length: int | None = None) -> str:
    if start <= 0 or start > len(text):
        return text
    count = len(other) if length is None else length
    # As in Flink, nothing of the rest is left if nothing is to be replaced.
    rest = text[start - 1 + count :] if count > 0 else ""
    return text[: start - 1] + other + rest


def left_pad(text: str, length: int, padding: str) -> str | None:
    if length < 0 or (not padding and length > len(text)):
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return (padding * (missing // len(padding) + 1))[:missing] + text


def right_pad(text: str, length: int, padding: str) -> str | None:
    if length < 0 or (not padding and length > len(text)):
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return text + (padding * (missing // len(padding) + 1))[:missing]


def left(text: str, length: int) -> str:
    return text[: max(length, 0)]


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def initcap(text: str) -> str:
    """Capitals at the start of words of letters and digits."""
    out, inside = [], False
    for character in text:
        word = character.isascii() and character.isalnum()
        out.append(character.lower() if inside else character.upper() if word else character)
        inside = word
    return "".join(out)


def ascii_code(text: str) -> int:
    if not text:
        return 0
    code = text.encode()[0]
    return code if code < 128 else code - 256


def chr_of(code: int) -> str:
    return chr(code & 0xFF) if code >= 0 else ""


def split_index(text: str, separator: str, index: int) -> str | None:
    if index < 0 or not text:
        return None
    parts = text.split(separator) if separator else [text]
    return parts[index] if index < len(parts) else None


def split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(text.split(separator)) if separator else tuple(text)


def str_to_map(text: str, entries: str = ",", pair: str = "=") -> dict[str, str | None]:
    result: dict[str, str | None] = {}
    for entry in java_pattern(entries).split(text) if text else []:
        parts = java_pattern(pair).split(entry, 1)
        result[parts[0]] = parts[1] if len(parts) == 2 else None
    return result


@lru_cache(4096)
def _like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    out, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape and position + 1 < len(pattern):
            position += 1
            out.append(re.escape(pattern[position]))
        else:
            out.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
        position += 1
    return re.compile("".join(out), re.DOTALL)


def like(text: str, pattern: str, escape: str = "") -> bool:
    return _like_pattern(pattern, escape).fullmatch(text) is not None


@lru_cache(1024)
def _similar_pattern(pattern: str) -> re.Pattern[str]:
    converted = "".join({"%": ".*", "_": "."}.get(c, c) for c in pattern)
    return re.compile(converted, re.DOTALL)


def similar(text: str, pattern: str, escape: str = "") -> bool:
    return _similar_pattern(pattern).fullmatch(text) is not None


def regexp(text: str, pattern: str) -> bool:
    try:
        return bool(pattern) and java_pattern(pattern).search(text) is not None
    except re.error:
        return False


def regexp_replace(text: str, pattern: str, replacement: str) -> str | None:
    """As in Flink, the replacement is taken as it is: `$1` is no group in it."""
    try:
        return java_pattern(pattern).sub(lambda _: replacement, text)
    except re.error:
        return None


def regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    try:
        found = java_pattern(pattern).search(text)
        return None if found is None or group < 0 else found.group(group)
    except (re.error, IndexError):
        return None


def regexp_count(text: str, pattern: str) -> int | None:
    try:
        return sum(1 for _ in java_pattern(pattern).finditer(text))
    except re.error:
        return None


def regexp_substr(text: str, pattern: str) -> str | None:
    return regexp_extract(text, pattern, 0)


def regexp_instr(text: str, pattern: str) -> int | None:
    try:
        found = java_pattern(pattern).search(text)
    except re.error:
        return None
    return 0 if found is None else found.start() + 1


def _digest(name: str, text: str) -> str:
    return hashlib.new(name, text.encode()).hexdigest()


def md5(text: str) -> str:
    return _digest("md5", text)


def sha1(text: str) -> str:
    return _digest("sha1", text)


def sha224(text: str) -> str:
    return _digest("sha224", text)


def sha256(text: str) -> str:
    return _digest("sha256", text)


def sha384(text: str) -> str:
    return _digest("sha384", text)


def sha512(text: str) -> str:
    return _digest("sha512", text)


def sha2(text: str, bits: int) -> str:
    if bits not in (224, 256, 384, 512):
        raise HeadraceError(f"SHA2 has 224, 256, 384 or 512 bits, not {bits}")
    return _digest(f"sha{bits}", text)


def to_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def from_base64(text: str) -> str:
    """The signs `=` at the end may be left out."""
    missing = "" if text.endswith("=") else "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + missing, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError) as error:
        raise HeadraceError(f"{text[:50]!r} is not base64: {error}") from error


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    try:
        parsed = urllib.parse.urlsplit(url)
    except ValueError:
        return None
    if part == "QUERY" and key is not None:
        found = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", parsed.query)
        return None if found is None else found.group(1)
    file = parsed.path + (f"?{parsed.query}" if parsed.query else "")
    user = parsed.netloc.rpartition("@")[0]
    return {
        "HOST": parsed.hostname,
        "PATH": parsed.path,
        "QUERY": parsed.query or None,
        "REF": parsed.fragment or None,
        "PROTOCOL": parsed.scheme or None,
        "AUTHORITY": parsed.netloc or None,
        "FILE": file,
        "USERINFO": user or None,
    }.get(part)


def url_encode(text: str) -> str | None:
    return urllib.parse.quote_plus(text, safe="*-._").replace("~", "%7E")


_NOT_ENCODED = re.compile("%(?![0-9A-Fa-f]{2})")


def url_decode(text: str) -> str | None:
    return None if _NOT_ENCODED.search(text) else urllib.parse.unquote_plus(text)


_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def is_decimal(text: str | None) -> bool:
    return text is not None and _DECIMAL.fullmatch(text) is not None


def elt(index: int | None, *parts: str | None) -> str | None:
    return parts[index - 1] if index is not None and 1 <= index <= len(parts) else None


def translate(text: str, source: str, target: str) -> str:
    table: dict[int, Any] = {}
    for position, character in enumerate(source):
        table.setdefault(ord(character), target[position] if position < len(target) else None)
    return text.translate(table)


def encode(text: str, charset: str) -> bytes:
    return text.encode(charset)


def decode(data: bytes, charset: str) -> str | None:
    return data.decode(charset, "replace")


def regexp_extract_all(text: str, pattern: str, group: int = 1) -> tuple[str, ...] | None:
    try:
        compiled = java_pattern(pattern)
    except re.error:
        return None
    if not 0 <= group <= compiled.groups:
        return None
    return tuple(found.group(group) for found in compiled.finditer(text))


def split_index_code(text: str, code: int, index: int) -> str | None:
    """The separator is given by its code."""
    return split_index(text, chr(code), index) if code >= 0 else None


_CONVERSION = re.compile(
    r"%(?:(?P<place>\d+)\$)?(?P<flags>[-#+ 0,(]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?"
    r"(?P<kind>[bBsSdoxXeEfgGcC%n])"
)


def printf(pattern: str | None, *values: object) -> str | None:
    """As Java's `String.format`: None where the pattern and the values do not go together."""
    if pattern is None:
        return None
    used = iter(values)

    def piece(found: re.Match[str]) -> str:
        kind, flags, width = found["kind"], found["flags"], int(found["width"] or 0)
        if kind == "n":
            return "\n"
        if kind == "%":
            text = "%"
        else:
            value = values[int(found["place"]) - 1] if found["place"] else next(used)
            text = _converted(kind, flags, width, found["precision"], value)
        return text.ljust(width) if "-" in flags else text.rjust(width)

    try:
        if "%" in _CONVERSION.sub("", pattern):
            return None
        return _CONVERSION.sub(piece, pattern)
    except (TypeError, ValueError, IndexError, StopIteration):
        return None


def _converted(kind: str, flags: str, width: int, precision: str | None, value: object) -> str:
    if kind in "bBsScC" or value is None:
        if kind in "bB":
            text = str(value is not None and value is not False).lower()
        elif isinstance(value, float):
            text = double_text(value)
        elif value is None or isinstance(value, bool):
            text = "null" if value is None else str(value).lower()
        else:
            text = str(value)
        text = text if precision is None else text[: int(precision)]
        return text.upper() if kind.isupper() else text
    wanted = (int,) if kind in "doxX" else (float,)
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError(f"%{kind} does not take {value!r}")
    if kind in "oxX" and isinstance(value, int) and value < 0:
        value += 1 << (32 if value >= -(1 << 31) else 64)
    sign = "".join(c for c in flags if c in "+ ")[:1]
    zeros = f"0{width}" if "0" in flags else ""
    digits = "" if kind in "doxX" else f".{precision or 6}"
    text = format(value, f"{sign}{zeros}{',' if ',' in flags else ''}{digits}{kind}")
    return f"({text[1:]})" if "(" in flags and text.startswith("-") else text
