"""Text from a socket: what `nc -lk 9999` is given, line by line."""

from __future__ import annotations

import codecs
import contextlib
import logging
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.threaded_reader import ThreadedReader

__all__ = ["SocketTextSource"]

_log = logging.getLogger(__name__)

_CHUNK = 64 * 1024
_RETRY_S = 0.5
_CONNECT_S = 30.0
_PROBE_S = 5.0


@dataclass(frozen=True)
class SocketTextSource(Source):
    r"""Connects to a server and reads text that a delimiter separates, in one subtask.

    The stream ends when the server closes the connection and `max_retry` attempts to connect again
    were made. What was read before a failure of the job cannot be read again.

    Args:
        hostname: Name or address of the server.
        port: Its port.
        delimiter: What separates records; a `\r` before a `\n` is dropped. The last piece need not
            have one.
        max_retry: How often to connect again after the server closed the connection; -1 forever.

    Example:
        >>> source = SocketTextSource("localhost", 9999)
        >>> lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    """

    hostname: str
    port: int
    delimiter: str = "\n"
    max_retry: int = 0

    def __post_init__(self) -> None:
        """Check the arguments where the user wrote them."""
        if not isinstance(self.hostname, str) or not self.hostname:
            raise FunctionTypeError(f"the host name must be a str, not {self.hostname!r}")
        if type(self.port) is not int:
            raise FunctionTypeError(f"the port must be an int, not {self.port!r}")
        if not 0 < self.port < 65536:
            raise GraphError(f"port {self.port} is out of range: it must be 1 to 65535")
        if not isinstance(self.delimiter, str) or not self.delimiter:
            raise FunctionTypeError(
                f"the delimiter must be a non-empty str, not {self.delimiter!r}"
            )
        if type(self.max_retry) is not int or self.max_retry < -1:
            raise GraphError(
                "max_retry must be a number of attempts, or -1 for no limit, not "
                f"{self.max_retry!r}"
            )

    @property
    def bounded(self) -> bool:
        return False

    @property
    def max_parallel_readers(self) -> int | None:
        return 1

    @property
    def produced_type(self) -> TypeInformation:
        return Types.STRING()

    def probe(self) -> str:
        """A server takes a connection, which ends at once."""
        self.connect(_PROBE_S).close()
        return f"the server at {self.hostname}:{self.port}"

    def connect(self, timeout_s: float) -> socket.socket:
        """A connection to the server."""
        try:
            return socket.create_connection((self.hostname, self.port), timeout_s)
        except OSError as error:
            name = f"{self.hostname}:{self.port}"
            raise HeadraceError(
                f"the socket source could not connect to {name} ({error.strerror or error}); start "
                f"the server before the job, for example with: nc -lk {self.port}"
            ) from error

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([SocketSplit("socket")], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _SocketReader(self, context)


@dataclass(frozen=True)
class SocketSplit:
    """The connection. It has no position; a checkpoint has what was received and not yet read."""

    split_id: str
    pending: tuple[ReadBatch, ...] = ()


class LineSplitter:
    """Cuts a stream of bytes into pieces of text."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        # As Flink does: what cannot be decoded becomes a replacement character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The pieces that are complete now."""
        *pieces, self._rest = (self._rest + self._decoder.decode(data)).split(self._delimiter)
        return self._clean(pieces)

    def end(self) -> list[str]:
        """The last piece, if it has no delimiter after it."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._rest = ""
        return self._clean([rest]) if rest else []

    def _clean(self, pieces: list[str]) -> list[str]:
        return [p.removesuffix("\r") for p in pieces] if self._delimiter == "\n" else pieces


class _SocketReader(ThreadedReader):
    def __init__(self, source: SocketTextSource, context: ReaderContext) -> None:
        super().__init__(context, "socket")
        self._source = source
        self._splitter = LineSplitter(source.delimiter)
        self._socket: socket.socket | None = None
        self._stopping = threading.Event()

    def add_splits(self, splits: Sequence[SocketSplit]) -> None:
        for split in splits:
            self.buffer.restore(split.pending)
        self.start()

    def produce(self) -> None:
        attempts = 0
        connection: socket.socket | None = self._connect()
        while connection is not None:
            self._read(connection)
            connection = None
            while connection is None and not self._stopping.is_set():
                if attempts == self._source.max_retry:
                    break
                attempts += 1
                connection = self._connect_again(attempts)
        pieces = self._splitter.end()
        if pieces:
            self.buffer.put_all(pieces)

    def _connect(self) -> socket.socket:
        connection = self._source.connect(_CONNECT_S)
        connection.settimeout(None)
        self._socket = connection
        if self._stopping.is_set():
            self.stop()
        return connection

    def _connect_again(self, attempt: int) -> socket.socket | None:
        limit = self._source.max_retry
        _log.warning(
            "the server at %s:%d closed the connection; connecting again (attempt %d%s)",
            self._source.hostname,
            self._source.port,
            attempt,
            "" if limit < 0 else f" of {limit}",
        )
        if self._stopping.wait(_RETRY_S):
            return None
        try:
            return self._connect()
        except HeadraceError as error:
            _log.warning("%s", error)
            return None

    def _read(self, connection: socket.socket) -> None:
        """Read until the server closes the connection, or resets it."""
        with connection, contextlib.suppress(ConnectionError):
            while data := self._receive(connection):
                pieces = self._splitter.feed(data)
                if pieces:
                    self.buffer.put_all(pieces)

    def _receive(self, connection: socket.socket) -> bytes:
        try:
            return connection.recv(_CHUNK)
        except OSError:
            if self._stopping.is_set():
                return b""
            raise

    def stop(self) -> None:
        self._stopping.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Closing alone would not wake a thread that receives.
                self._socket.shutdown(socket.SHUT_RDWR)

    def snapshot(self) -> list[SocketSplit]:
        if self.exhausted:
            return []
        return [SocketSplit("socket", tuple(self.buffer.contents()))]
