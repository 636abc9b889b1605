"""Asynchronous I/O: lookups in a server that takes 5 ms, many at once against one by one."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.programs import environment
from headrace.common import Time
from headrace.datastream import AsyncDataStream
from headrace.datastream.connectors.print_sink import DiscardingSink
from headrace.datastream.functions import AsyncFunction, MapFunction, RuntimeContext

DELAY_S = 0.005
CAPACITY = 100
MANY, FEW = 60_000, 1_000


class _Answers(asyncio.Protocol):
    """Answers each line with the same line, 5 ms later."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._rest = b""
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines:
            answer = b"\n".join(lines) + b"\n"
            self._loop.call_later(DELAY_S, self._transport.write, answer)


def _serve(port: Any) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Answers, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def _server() -> Iterator[int]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(there,), daemon=True
    )
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


class LookUp(AsyncFunction[int, int]):
    """Asks over one connection; answers find their question by its number."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None
        self._connected: asyncio.Lock | None = None
        self._waiting: dict[bytes, asyncio.Future[int]] = {}

    async def async_invoke(self, value: int) -> list[int]:
        if self._writer is None:
            self._connected = self._connected or asyncio.Lock()
            async with self._connected:
                if self._writer is None:
                    await self._connect()
        assert self._writer is not None
        question = b"%d" % value
        answer = self._waiting[question] = asyncio.get_running_loop().create_future()
        self._writer.write(question + b"\n")
        return [await answer]

    async def _connect(self) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._listener = asyncio.create_task(self._listen(reader))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self._waiting.pop(line[:-1]).set_result(int(line))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()


class LookUpOneByOne(MapFunction):
    """Asks and waits."""

    def __init__(self, port: int) -> None:
        self._port = port

    def open(self, runtime_context: RuntimeContext) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port))
        self._file = self._socket.makefile("rb")

    def map(self, value: int) -> int:
        self._socket.sendall(b"%d\n" % value)
        return int(self._file.readline())

    def close(self) -> None:
        self._socket.close()


def _numbers(records: int) -> tuple[Any, Any]:
    env = environment()
    env.set_parallelism(1)
    return env, env.from_sequence(0, records - 1)


def _many_at_once(port: int, records: int) -> None:
    env, numbers = _numbers(records)
    found = AsyncDataStream.unordered_wait(numbers, LookUp(port), Time.seconds(30), CAPACITY)
    found.sink_to(DiscardingSink())
    env.execute("asynchronous lookups")


def _one_by_one(port: int, records: int) -> None:
    env, numbers = _numbers(records)
    numbers.map(LookUpOneByOne(port)).sink_to(DiscardingSink())
    env.execute("lookups one by one")


def async_lookups(settings: Settings) -> Iterator[Result]:
    """Asynchronous lookups of 5 ms with capacity 100 against synchronous ones."""
    many, few = settings.records(MANY), max(int(FEW * settings.scale), 200)
    with _server() as port:
        ours, theirs = alternate(
            lambda: many / timed(lambda: _many_at_once(port, many)),
            lambda: few / timed(lambda: _one_by_one(port, few)),
            settings.rounds,
        )
    yield Result(
        "asynchronous lookups",
        "one by one",
        "records/s",
        statistics.median(ours),
        statistics.median(theirs),
        middle_ratio(ours, theirs),
        goal=50,
        samples={"ours": ours, "theirs": theirs},
    )


CASES = {"async-lookups": async_lookups}
