"""Records that failed, on their way to a side output."""

from __future__ import annotations

from typing import Any

from headrace.datastream.dead_letter import DeadLetter
from headrace.datastream.output_tag import OutputTag
from headrace.runtime.batch import Batch
from headrace.runtime.failure import user_traceback
from headrace.runtime.output import OperatorOutput


class DeadLetters:
    """Gathers what fails within a batch; without a tag nothing can be set aside."""

    def __init__(self, tag: OutputTag | None) -> None:
        self._tag = tag
        self._letters: list[DeadLetter] = []

    def __bool__(self) -> bool:
        return self._tag is not None

    def add(
        self, operator: str, error: BaseException, record: Any, where: str, stamp: int | None
    ) -> None:
        """Set a record aside."""
        self._letters.append(
            DeadLetter(
                record,
                type(error).__name__,
                str(error),
                user_traceback(error),
                operator,
                where,
                stamp,
            )
        )

    def emit(self, output: OperatorOutput) -> None:
        """Hand over what was set aside."""
        letters, self._letters = self._letters, []
        if letters and self._tag is not None:
            stamps = [letter.timestamp for letter in letters]
            known = any(stamp is not None for stamp in stamps)
            output.emit_side(self._tag.tag_id, Batch(letters, stamps if known else None))
