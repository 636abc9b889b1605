"""Functions of text, as methods of expressions."""

from __future__ import annotations

from typing import Any

from headrace.sql.table_api.expression_nodes import (
    ExpressionBase,
    called,
    text_of,
    unary,
    with_optional,
)

__all__ = ["TextFunctions"]


class TextFunctions(ExpressionBase):
    """Text and bytes."""

    def _call(self, name: str, function: str, *args: Any) -> Any:
        return self._made(*called(name, function, *args))

    def _own(self, name: str, function: str, *args: Any) -> Any:
        return self._call(name, function, self, *with_optional(*args))

    char_length = unary("charLength", "CHAR_LENGTH", "The number of characters.")
    upper_case = unary("upper", "UPPER", "In capitals.")
    lower_case = unary("lower", "LOWER", "In small letters.")
    init_cap = unary("initCap", "INITCAP", "With a capital at the start of each word.")
    ascii = unary("ascii", "ASCII", "The number of the first character.")
    chr = unary("chr", "CHR", "The character of a number.")
    reverse = unary("reverse", "REVERSE", "Backwards.")
    from_base64 = unary("fromBase64", "FROM_BASE64", "The text that BASE64 stands for.")
    to_base64 = unary("toBase64", "TO_BASE64", "As BASE64.")
    md5 = unary("md5", "MD5", "The MD5 digest.")
    sha1 = unary("sha1", "SHA1", "The SHA-1 digest.")
    sha224 = unary("sha224", "SHA224", "The SHA-224 digest.")
    sha256 = unary("sha256", "SHA256", "The SHA-256 digest.")
    sha384 = unary("sha384", "SHA384", "The SHA-384 digest.")
    sha512 = unary("sha512", "SHA512", "The SHA-512 digest.")
    hex = unary("hex", "HEX", "Hexadecimal digits.")
    unhex = unary("UNHEX", "UNHEX", "The bytes of hexadecimal digits.")

    def concat(self, other: Any) -> Any:
        """Followed by another text."""
        return self._own("concat", "CONCAT", other)

    def substring(self, begin_index: Any, length: Any = None) -> Any:
        """From a position, which begins with 1, and of a length."""
        return self._own("substring", "SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Any:
        """The same as `substring`."""
        return self._own("substr", "SUBSTR", begin_index, length)

    def trim_leading(self, character: Any = None) -> Any:
        """Without characters, spaces unless given, at its start."""
        return self._trimmed("TRIM_LEADING", "true, false", character)

    def trim_trailing(self, character: Any = None) -> Any:
        """Without characters, spaces unless given, at its end."""
        return self._trimmed("TRIM_TRAILING", "false, true", character)

    def trim(self, character: Any = None) -> Any:
        """Without characters, spaces unless given, at both ends."""
        return self._trimmed("TRIM_BOTH", "true, true", character)

    def _trimmed(self, function: str, sides: str, character: Any) -> Any:
        given = " " if character is None else character
        node, _ = called("trim", function, self, given)
        return self._made(node, f"trim({sides}, {text_of(given)}, {self})")

    def ltrim(self, trim_str: Any = None) -> Any:
        """Without characters at its start."""
        return self._own("ltrim", "LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Any:
        """Without characters at its end."""
        return self._own("rtrim", "RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Any:
        """Without characters at both ends."""
        return self._own("BTRIM", "BTRIM", trim_str)

    def replace(self, search: Any = None, replacement: Any = None) -> Any:
        """With all occurrences of a text replaced."""
        return self._call("replace", "REPLACE", self, search, replacement)

    def like(self, pattern: Any = None, escape: Any = None) -> Any:
        """Whether it is like a pattern with `%` and `_`."""
        args = [pattern] if escape is None else [pattern, escape]
        return self._call("LIKE", "LIKE", self, *args)

    def similar(self, pattern: Any = None) -> Any:
        """Whether it matches an SQL regular expression."""
        return self._call("similar", "SIMILAR", self, pattern)

    def position(self, haystack: Any = None) -> Any:
        """Where it is first found in another text; 0 if nowhere."""
        return self._call("position", "POSITION", self, haystack)

    def locate(self, s: Any, pos: Any = None) -> Any:
        """Where it is first found in another text, from a position on."""
        return self._own("locate", "LOCATE", s, pos)

    def instr(self, s: Any) -> Any:
        """Where another text is first found in it."""
        return self._own("instr", "INSTR", s)

    def lpad(self, length: Any, pad: Any) -> Any:
        """Filled at its start up to a length."""
        return self._own("lpad", "LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Any:
        """Filled at its end up to a length."""
        return self._own("rpad", "RPAD", length, pad)

    def left(self, length: Any) -> Any:
        """Its first characters."""
        return self._own("left", "LEFT", length)

    def right(self, length: Any) -> Any:
        """Its last characters."""
        return self._own("right", "RIGHT", length)

    def repeat(self, n: Any) -> Any:
        """Several times."""
        return self._own("repeat", "REPEAT", n)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Any:
        """With a part replaced by another text."""
        return self._own("overlay", "OVERLAY", new_string, starting, length)

    def regexp(self, regex: Any) -> Any:
        """Whether a regular expression is found in it."""
        return self._own("regexp", "REGEXP", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Any:
        """With all that a regular expression finds replaced."""
        return self._own("regexpReplace", "REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Any:
        """What a regular expression, or a group of it, finds."""
        return self._own("regexpExtract", "REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Any:
        """All that a regular expression finds."""
        return self._own("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_count(self, regex: Any) -> Any:
        """How often a regular expression finds something."""
        return self._own("REGEXP_COUNT", "REGEXP_COUNT", regex)

    def regexp_instr(self, regex: Any) -> Any:
        """Where a regular expression first finds something."""
        return self._own("REGEXP_INSTR", "REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Any:
        """What a regular expression first finds."""
        return self._own("REGEXP_SUBSTR", "REGEXP_SUBSTR", regex)

    def split(self, delimiter: Any) -> Any:
        """An array of its parts between delimiters."""
        return self._own("SPLIT", "SPLIT", delimiter)

    def split_index(self, separator: Any, index: Any) -> Any:
        """One of its parts between separators, from 0."""
        return self._own("splitIndex", "SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Any:
        """A map of pairs such as `a=1,b=2`."""
        return self._own("strToMap", "STR_TO_MAP", list_delimiter, key_value_delimiter)

    def starts_with(self, start_expr: Any) -> Any:
        """Whether it begins with another text."""
        return self._own("STARTSWITH", "STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Any:
        """Whether it ends with another text."""
        return self._own("ENDSWITH", "ENDSWITH", end_expr)

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Any:
        """A part of a URL, such as `HOST`."""
        return self._own("parseUrl", "PARSE_URL", part_to_extract, key)

    def url_decode(self) -> Any:
        """The text that a URL's form stands for."""
        return self._own("URL_DECODE", "URL_DECODE")

    def url_encode(self) -> Any:
        """In the form of a URL."""
        return self._own("URL_ENCODE", "URL_ENCODE")

    def encode(self, charset: Any) -> Any:
        """Bytes in a charset."""
        return self._own("encode", "ENCODE", charset)

    def decode(self, charset: Any) -> Any:
        """Text of bytes in a charset."""
        return self._own("decode", "DECODE", charset)

    def sha2(self, hash_length: Any) -> Any:
        """A digest of the SHA-2 family."""
        return self._own("sha2", "SHA2", hash_length)

    def translate(self, from_str: Any, to_str: Any) -> Any:
        """With characters replaced by others, one by one."""
        return self._own("TRANSLATE3", "TRANSLATE", from_str, to_str)

    def elt(self, expr: Any, *exprs: Any) -> Any:
        """The text of a number among some."""
        return self._own("ELT", "ELT", expr, *exprs)

    def printf(self, *obj: Any) -> Any:
        """A format filled with values."""
        return self._own("PRINTF", "PRINTF", *obj)

    def inet_aton(self) -> Any:
        """The number of an IPv4 address."""
        return self._own("INET_ATON", "INET_ATON")

    def inet_ntoa(self) -> Any:
        """The IPv4 address of a number."""
        return self._own("INET_NTOA", "INET_NTOA")
