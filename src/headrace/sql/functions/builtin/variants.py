"""Variants: values of JSON, kept as its text without blanks and with keys in order."""

from __future__ import annotations

import json
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.java.text import double_text


class _Number(str):
    """A number as the text has it."""


def parse_json(text: str, allow_duplicate_keys: bool = False) -> str:
    """The variant of a text."""
    try:
        return _parsed(text, allow_duplicate_keys)
    except ValueError as error:
        raise HeadraceError(
            f"PARSE_JSON cannot read {text!r}: {error}; TRY_PARSE_JSON gives NULL instead"
        ) from error


def try_parse_json(text: str, allow_duplicate_keys: bool = False) -> str | None:
    """The variant of a text, NULL if it is not JSON."""
    try:
        return _parsed(text, allow_duplicate_keys)
    except ValueError:
        return None


def item(variant: str, key: str | int) -> str | None:
    """A field of an object, or an element of an array, the first is 1."""
    value = _loaded(variant)
    if isinstance(key, str):
        if not isinstance(value, dict):
            raise HeadraceError(f"[{key!r}] takes a field of an object, but the variant is {value}")
        return _text(value[key]) if key in value else None
    if not isinstance(value, list):
        raise HeadraceError(f"[{key}] takes an element of an array, but the variant is {value}")
    return _text(value[key - 1]) if 1 <= key <= len(value) else None


def _parsed(text: str, allow_duplicate_keys: bool) -> str:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found) and not allow_duplicate_keys:
            raise ValueError("an object has a key twice")
        return made

    return _text(_loaded(text, pairs))


def _loaded(text: str, pairs: Any = dict) -> Any:
    return json.loads(
        text,
        object_pairs_hook=pairs,
        parse_int=_Number,
        parse_float=_fraction,
        parse_constant=_refused,
    )


def _fraction(text: str) -> _Number:
    """With an exponent it is a double, and shown like one; else a decimal without zeros behind."""
    if "e" in text.lower():
        return _Number(double_text(float(text)))
    short = text.rstrip("0").rstrip(".")
    return _Number("0" if short == "-0" else short)


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        parts = (f"{_quoted(k)}:{_text(v)}" for k, v in sorted(value.items()))
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return value if isinstance(value, _Number) else _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
