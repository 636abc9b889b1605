"""Models behind an HTTP endpoint of the common chat or embedding form: `'provider' = 'openai'`."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.models.endpoint_requests import EndpointPredictions, EndpointRequests
from headrace.sql.models.provider import ModelContext, ModelProvider
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits

__all__ = ["openai_provider"]

_CHAT, _EMBEDDINGS = "chat/completions", "embeddings"
_DEFAULT_PROMPT = "You are a helpful assistant."
_OUTPUTS: dict[str, DataType] = {
    _CHAT: t.VarCharType(t.MAX_LENGTH),
    _EMBEDDINGS: t.ArrayType(t.FloatType()),
}
_METADATA: dict[str, DataType] = {
    "error-string": t.VarCharType(t.MAX_LENGTH),
    "http-status-code": t.IntType(),
    "http-headers-map": t.MapType(
        t.VarCharType(t.MAX_LENGTH), t.ArrayType(t.VarCharType(t.MAX_LENGTH))
    ),
}
"""Columns of the output that are NULL unless a request failed and that is ignored."""

_OLD_KEYS = {"systemPrompt": "system-prompt", "maxTokens": "max-tokens", "topP": "top-p"}
_STRATEGIES = ("RETRY", "FAILOVER", "IGNORE")


class OpenAiModel(ModelProvider):
    """Requests, as many at the same time as are allowed."""

    name = "openai"
    asynchronous = True

    def __init__(self, requests: EndpointRequests) -> None:
        self._requests = requests

    def function(self, limits: CallLimits) -> BatchTableFunction:
        return EndpointPredictions(self._requests, limits)


def openai_provider(context: ModelContext) -> OpenAiModel:
    """Reads the options, and refuses columns of other types than the endpoint has."""
    for old, new in _OLD_KEYS.items():
        if old in context.options:
            context.options.setdefault(new, context.options.pop(old))
    url, api_key, model = (context.required(key) for key in ("endpoint", "api-key", "model"))
    form = next((x for x in _OUTPUTS if url.rstrip("/").lower().endswith("/" + x)), None)
    if form is None:
        raise SqlError(f"Unsupported endpoint: {url}. It ends with /{_CHAT} or /{_EMBEDDINGS}")
    if not url.lower().startswith(("http://", "https://")):
        raise SqlError(f"Unsupported endpoint: {url}. It begins with http:// or https://")
    chat = form == _CHAT
    body = {"model": model, **(_chat_options(context) if chat else _embedding_options(context))}
    attempts, ignore = _error_handling(context)
    context.check_all_used()
    _single_column(context, context.inputs, {}, "input", t.VarCharType(t.MAX_LENGTH))
    place = _single_column(context, context.outputs, context.metadata, "output", _OUTPUTS[form])
    requests = EndpointRequests(
        context.name,
        url.rstrip("/"),
        api_key,
        chat,
        body,
        attempts,
        ignore,
        place,
        context.metadata,
        len(context.outputs),
    )
    return OpenAiModel(requests)


def _chat_options(context: ModelContext) -> dict[str, Any]:
    prompt = context.option("system-prompt", _DEFAULT_PROMPT)
    stop = context.option("stop")
    form = _choice(context, "response-format", ("text", "json_object"))
    given = {
        "temperature": _decimal(context, "temperature"),
        "top_p": _decimal(context, "top-p"),
        "stop": None if stop is None else stop.split(","),
        "max_tokens": context.integer("max-tokens"),
        "presence_penalty": _decimal(context, "presence-penalty"),
        "n": context.integer("n"),
        "seed": context.integer("seed"),
        "response_format": None if form is None else {"type": form},
    }
    return {
        "messages": [{"role": "system", "content": prompt}],
        **{k: v for k, v in given.items() if v is not None},
    }


def _embedding_options(context: ModelContext) -> dict[str, Any]:
    dimension = context.integer("dimension")
    size = {} if dimension is None else {"dimensions": dimension}
    return {"encoding_format": "float", **size}


def _error_handling(context: ModelContext) -> tuple[int, bool]:
    """How often a request is tried, and whether a row whose requests failed is ignored."""
    strategy = _choice(context, "error-handling-strategy", _STRATEGIES) or "RETRY"
    fallback = _choice(context, "retry-fallback-strategy", _STRATEGIES[1:]) or "FAILOVER"
    retries = context.integer("retry-num", 100) or 0
    if strategy == "RETRY":
        return retries + 1, fallback == "IGNORE"
    return 1, strategy == "IGNORE"


def _choice(context: ModelContext, key: str, known: tuple[str, ...]) -> str | None:
    value = context.option(key)
    if value is None:
        return None
    found = next((k for k in known if k.lower() == value.lower()), None)
    if found is None:
        raise SqlError(
            f"option '{key}' of model {context.name} is one of {', '.join(known)}, not '{value}'"
        )
    return found


def _decimal(context: ModelContext, key: str) -> float | None:
    value = context.option(key)
    try:
        return None if value is None else float(value)
    except ValueError:
        raise SqlError(f"option '{key}' of model {context.name} is a number: '{value}'") from None


def _single_column(
    context: ModelContext, schema: Schema, metadata: dict[int, str], what: str, wanted: DataType
) -> int:
    """The place of the only column that is not about failures; its type has to be a given one."""
    places = [i for i in range(len(schema)) if i not in metadata]
    if len(places) != 1:
        names = ", ".join(schema[i].name for i in places)
        raise SqlError(
            f"Model should have exactly one {what} physical column, but actually has {len(places)} "
            f"physical columns: [{names}]"
        )
    found = schema[places[0]]
    if found.type != wanted:
        raise SqlError(
            f"{what} column {found.name} should be {wanted.sql_text()}, but is a "
            f"{found.type.sql_text()}."
        )
    for place, key in metadata.items():
        if key not in _METADATA:
            known = ", ".join(_METADATA)
            raise SqlError(f"Unexpected metadata column {key}. Supported metadata columns: {known}")
        if schema[place].type != _METADATA[key]:
            raise SqlError(
                f"Expected metadata column {key} to be of type {_METADATA[key].sql_text()}, but is "
                f"of type {schema[place].type.sql_text()}"
            )
    return places[0]
