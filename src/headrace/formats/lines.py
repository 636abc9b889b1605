"""Lines of text that stay one text until somebody looks at a single line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

__all__ = ["Lines"]


def _line_ends(data: bytes) -> Any:
    """Where they are; numpy finds them sooner than `bytes` counts them."""
    import numpy as np

    return np.append(np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")), len(data))


class Lines(Sequence[str]):
    r"""The lines of a text in UTF-8 that end with `\n`; there is at least one.

    Attributes:
        data: The text, without the end of the last line.
    """

    __slots__ = ("_ends", "_texts", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._ends = _line_ends(data)
        self._texts: list[str] | None = None

    def _lines(self) -> list[str]:
        if self._texts is None:
            self._texts = self.data.decode().split("\n")
        return self._texts

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._lines()[index]
        start, stop, step = index.indices(len(self))
        if step != 1 or start >= stop:
            return self._lines()[index]
        first = int(self._ends[start - 1]) + 1 if start else 0
        return Lines(self.data[first : int(self._ends[stop - 1])])

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._lines(),)
