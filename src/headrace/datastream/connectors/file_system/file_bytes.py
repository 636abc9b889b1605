"""The bytes of a file: decompressed, and with line ends that can be found."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from headrace.common.errors import HeadraceError

__all__ = ["TextEncoding", "open_uncompressed", "splittable"]

_COMPRESSED: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_BUFFER = 256 * 1024
_NOT_READ = (".zst", ".deflate", ".snappy", ".lz4")


@dataclass(frozen=True)
class TextEncoding:
    """The character set of text in files."""

    charset: str

    @property
    def wide(self) -> bool:
        """Whether bytes must be decoded before lines can be found."""
        return "\n".encode(self.charset) != b"\n"

    def open(self, path: str) -> BinaryIO:
        """The file as bytes in which 0x0A is a line end, and decodable with `byte_charset`."""
        stream = open_uncompressed(path)
        return cast("BinaryIO", _Utf8View(stream, self.charset)) if self.wide else stream

    @property
    def byte_charset(self) -> str:
        """The character set of what `open` gives."""
        return "utf-8" if self.wide else self.charset


class _Utf8View:
    """A file in another character set, seen as UTF-8. Positions are those of the UTF-8."""

    def __init__(self, stream: BinaryIO, charset: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(charset)()

    def read(self, size: int) -> bytes:
        while True:
            data = self._stream.read(size)
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.encode()

    def seek(self, position: int) -> None:
        """Only forward, from the start: resuming reads what was read before once more."""
        while position > 0:
            # Never more than what is missing: a character is at least as long here as there.
            data = self.read(max(position // 4, 1))
            if not data:
                return
            position -= len(data)

    def close(self) -> None:
        self._stream.close()


def open_uncompressed(path: str, buffered: bool = False) -> BinaryIO:
    """Open a file, through the decompressor that its name asks for.

    Args:
        path: The file.
        buffered: Whether small pieces will be read; a decompressor has a buffer in any case.
    """
    suffix = _suffix(path)
    if suffix in _NOT_READ:
        raise HeadraceError(
            f"{path} is compressed as {suffix}, which headrace cannot read; unpack it, or use "
            ".gz, .bz2 or .xz"
        )
    opener = _COMPRESSED.get(suffix)
    if opener is None:
        return open(path, "rb", buffering=_BUFFER if buffered else 0)
    return cast("BinaryIO", opener(path, "rb"))


def splittable(path: str) -> bool:
    """Whether reading may begin in the middle of the file."""
    return _suffix(path) not in _COMPRESSED and _suffix(path) not in _NOT_READ


def _suffix(path: str) -> str:
    dot = path.rfind(".")
    return path[dot:].lower() if dot >= 0 else ""
