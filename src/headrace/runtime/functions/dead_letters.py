"""Records that failed, on their way to a side output.

They fail in three places: in the user's function or timer, where the operator catches it; in a
source that cannot deserialize them; and behind the function, where its result is not of the type
that was declared for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from headrace.datastream.dead_letter import DeadLetter
from headrace.datastream.output_tag import OutputTag
from headrace.runtime.batch import Batch, Receiver
from headrace.runtime.exchange.output import Converter, OperatorOutput
from headrace.runtime.failure import UserCodeFailure, user_traceback
from headrace.runtime.ownership import own


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
                own(record),
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


class LenientOutput(OperatorOutput):
    """The output of an operator with `on_error`: what is not of its declared type is a letter."""

    def __init__(
        self,
        main: Sequence[Receiver],
        side: dict[str, Sequence[Receiver]],
        convert: Converter | None,
        side_converters: dict[str, Converter],
        error_tag: OutputTag,
        operator: str,
    ) -> None:
        super().__init__(main, side, convert, side_converters)
        self._letters = DeadLetters(error_tag)
        self._operator = operator

    def _converted(self, batch: Batch, convert: Converter) -> Batch:
        try:
            return super()._converted(batch, convert)
        except UserCodeFailure:
            fitting = self._sort_out(batch, convert)
            self._letters.emit(self)
            return fitting

    def _sort_out(self, batch: Batch, convert: Converter) -> Batch:
        values: list[Any] = []
        stamps: list[int | None] = []
        known = repeat(None) if batch.timestamps is None else batch.timestamps
        for value, stamp in zip(batch.values, known, strict=False):
            try:
                values += convert([value])
                stamps.append(stamp)
            except UserCodeFailure as failure:
                self._letters.add(self._operator, failure.cause, value, failure.where, stamp)
        return Batch(values, None if batch.timestamps is None else stamps)
