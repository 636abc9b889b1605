"""Models behind an endpoint, in a slot: what is sent, and what becomes of the answers."""

from __future__ import annotations

import logging
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from headrace.runtime.operator import Operator
from headrace.sql.models.endpoint import Endpoint, EndpointError
from headrace.sql.udf.batch_table import BatchTableFunction, CallLimits, Rows

__all__ = ["EndpointPredictions", "EndpointRequests"]

_log = logging.getLogger(__name__)


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
    api_key: str = field(repr=False)
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
    """Sends the texts of a batch, a limited number of them at the same time."""

    requests: EndpointRequests
    limits: CallLimits

    def open(self, operator: Operator) -> None:
        headers = {
            "Authorization": f"Bearer {self.requests.api_key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._endpoint = Endpoint(self.requests.url, headers, self.requests.attempts)
        self._threads = ThreadPoolExecutor(self.limits.concurrent, "model")

    def batch(self, rows: Rows) -> list[Rows]:
        calls = [self._threads.submit(self._answer, row[0]) for row in rows]
        done, _ = wait(calls, return_when=FIRST_EXCEPTION)
        for call in done:
            call.result()
        return [call.result() for call in calls]

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
            self._endpoint.close()
            self._threads.shutdown(cancel_futures=True)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_threads", "_endpoint")}
