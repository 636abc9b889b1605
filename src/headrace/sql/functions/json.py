"""Functions of JSON; `headrace.sql.parser.json_syntax` reads their options."""

from __future__ import annotations

from headrace.sql.functions.registry import scalar

_VALUE = "string, string, string?, string?, string?, string?"
_QUERY = "string, string, string?, string?, string?"

FUNCTIONS = [
    scalar(
        "IS_JSON",
        "string, string?",
        "boolean!",
        "json_functions:is_json",
        strict=False,
        hidden=True,
    ),
    scalar("JSON_EXISTS", "string, string, string?", "boolean?", "json_functions:json_exists"),
    scalar("JSON_VALUE", _VALUE, "string?", "json_functions:json_value", strict=False),
    scalar("JSON_QUERY", _QUERY, "string?", "json_functions:json_query", strict=False),
    scalar(
        "JSON_QUERY_ARRAY",
        _QUERY,
        "strings?",
        "json_functions:json_query_array",
        strict=False,
        hidden=True,
    ),
    scalar("JSON_STRING", "any", "string"),
    scalar("JSON_OBJECT", "string, string*", "string!", "json_functions:json_object", strict=False),
    scalar("JSON_ARRAY", "string, string*", "string!", "json_functions:json_array", strict=False),
    scalar("JSON", "string", "string", "json_functions:json_raw"),
    scalar("PARSE_JSON", "string, bool?", "variant", "variants:parse_json"),
    scalar("TRY_PARSE_JSON", "string, bool?", "variant?", "variants:try_parse_json"),
    scalar("JSON_QUOTE", "string", "string", "json_functions:json_quote"),
    scalar("JSON_UNQUOTE", "string", "string", "json_functions:json_unquote"),
]
