"""Answers in JSON: the one place where it is made of what the others know."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

from headrace.coordination.bodies.flink_json import to_json

__all__ = ["Answer"]


class Answer(JSONResponse):
    """A body, a dataclass or plain values, as Flink's JSON."""

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return super().render(to_json(content))
