"""Models behind an HTTP endpoint of the common chat or embedding form: `'provider' = 'openai'`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import SqlError
from headrace.runtime.operator import Operator
from headrace.sql import types as t
from headrace.sql.models.endpoint import Endpoint, EndpointError
from headrace.sql.models.provider import ModelContext, ModelProvider
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits, Rows

__all__ = ["openai_provider"]

_log = logging.getLogger(__name__)
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


@dataclass(frozen=True)
class EndpointRequests:
    """What is sent, and what becomes of the answers.

    Attributes:
        model: The name of the model in the catalog.
        url: The endpoint.
        api_key: Goes with each request.
        chat: Whether it is a chat; otherwise it gives embeddings.
        body: What is the same in all requests.
        attempts: How often one is tried.
        ignore: Whether a row whose requests failed is left out, or has NULL, instead of failing.
        place: Which column of the output has the answer.
        metadata: Which other columns say something about a failure: position to key.
        width: How many columns the output has.
    """

    model: str
    url: str
    api_key: str
    chat: bool
    body: dict[str, Any] = field(repr=False)
    attempts: int
    ignore: bool
    place: int
    metadata: dict[int, str]
    width: int

    def request(self, text: str) -> dict[str, Any]:
        """The body of a request."""
        if not self.chat:
            return {**self.body, "input": text}
        prompt, *rest = self.body["messages"]
        return {**self.body, "messages": [prompt, {"role": "user", "content": text}, *rest]}

    def rows(self, answer: Any) -> Rows:
        """A row for each choice of a chat, or for the embedding."""
        try:
            if self.chat:
                values = [c["message"].get("content") or "" for c in answer["choices"]]
            else:
                values = [tuple(map(float, e["embedding"])) for e in answer["data"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EndpointError(
                f"{self.url} answered in an unknown form: {str(answer)[:500]}"
            ) from error
        return [self._row({self.place: value}) for value in values]

    def failed(self, error: EndpointError) -> Rows:
        """What a row becomes whose requests failed, where that is ignored."""
        _log.warning("model %s ignores a row: %s", self.model, error)
        if not self.metadata:
            return []
        headers = {k: tuple(v) for k, v in (error.headers or {}).items()} or None
        known = {
            "error-string": str(error),
            "http-status-code": error.status,
            "http-headers-map": headers,
        }
        return [self._row({place: known[key] for place, key in self.metadata.items()})]

    def _row(self, values: dict[int, Any]) -> tuple[Any, ...]:
        return tuple([values.get(i) for i in range(self.width)])


@dataclass
class EndpointPredictions(BatchTableFunction):
    """Sends the texts of a batch, so many at the same time."""

    requests: EndpointRequests
    limits: CallLimits
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def open(self, operator: Operator) -> None:
        headers = {
            "Authorization": f"Bearer {self.requests.api_key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._endpoint = Endpoint(
            self.requests.url, headers, self.requests.attempts, self.clock, self.sleep
        )
        self._threads = ThreadPoolExecutor(self.limits.concurrent, "model")

    def batch(self, rows: Rows) -> list[Rows]:
        return list(self._threads.map(self._answer, [row[0] for row in rows]))

    def _answer(self, text: str | None) -> Rows:
        if text is None:
            _log.warning("model %s leaves out a row without input", self.requests.model)
            return []
        try:
            answer = self._endpoint.post(self.requests.request(text), self.limits.timeout_ms / 1000)
            return self.requests.rows(answer)
        except EndpointError as error:
            if not self.requests.ignore:
                raise
            return self.requests.failed(error)

    def close(self) -> None:
        if hasattr(self, "_threads"):
            self._threads.shutdown(cancel_futures=True)
            self._endpoint.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_threads", "_endpoint")}


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
