"""How a slot is started and what a Spark task says to it.

It is light, because every Spark worker imports it.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from dataclasses import asdict, dataclass, field, replace

FAILED = b"F"
"""Answer of a slot whose user code failed: the job master knows why, the task just ends."""

REFUSED = b"R"
"""Answer to a task that may not run; the reason is the next message."""


@dataclass(frozen=True)
class SlotLaunch:
    """What a slot must know to start. It has secrets: it travels as JSON on standard input."""

    slot: int
    attempt: int
    control_address: str | tuple[str, int]
    token: str
    socket_dir: str
    python_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    executor_pid: int | None = None
    first_python_path: tuple[str, ...] = ()
    working_directory: str | None = None
    shipped: dict[str, str] = field(default_factory=dict)
    """Names of Spark's files for paths of the driver's host that are copied to the others."""
    own_directory: bool = False
    """Whether `socket_dir` is the slot's alone, which it then removes at its end."""
    modules: tuple[str, ...] = ()
    """What the slot is going to import: the process that it is copied from may have done it."""

    @property
    def log_path(self) -> str:
        """Where the slot writes output that is not forwarded, such as why it could not start."""
        return os.path.join(self.socket_dir, f"slot-{self.slot}.log")

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> SlotLaunch:
        fields = json.loads(text)
        address = fields["control_address"]
        fields["control_address"] = address if isinstance(address, str) else tuple(address)
        for name in ("python_path", "preload", "first_python_path", "modules"):
            fields[name] = tuple(fields[name])
        return SlotLaunch(**fields)


@dataclass(frozen=True)
class SlotAddress:
    """Where tasks reach a slot."""

    data_address: str
    tcp_address: tuple[str, int] | None


@dataclass(frozen=True)
class Carriage:
    """A job that carries frames: its number in the attempt, the slots, and which task has which."""

    number: int
    attempt: int
    token: str
    slots: tuple[SlotAddress, ...]
    places: tuple[tuple[int, ...], ...]
    hosts: tuple[int, ...]


EPOCH, LIVE_OUTPUT, LIVE_INPUT = "epoch", "output", "input"
"""What a task is for: a subtask in an epoch, or all output or input of a slot from now on."""


@dataclass(frozen=True)
class TaskRequest:
    """The first message on a data connection: which subtask of which epoch the task is for.

    The job's token signs it and does not travel itself. Who repeats a request is refused, since its
    epoch has begun. A task of a job that outlives epochs gives the number of that job instead, and
    the slot.
    """

    attempt: int
    epoch: int
    vertex: str
    subtask: int
    role: str = EPOCH
    signature: str = ""

    def signed(self, token: str) -> TaskRequest:
        """The request as a slot takes it."""
        return replace(self, signature=self._signature(token))

    def is_signed_with(self, token: str) -> bool:
        """Whether the sender knows the token."""
        return hmac.compare_digest(self.signature, self._signature(token))

    def _signature(self, token: str) -> str:
        about = json.dumps([self.attempt, self.epoch, self.vertex, self.subtask, self.role])
        return hmac.digest(token.encode(), about.encode(), "sha256").hex()

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def now_ms() -> int:
    """Processing time."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """A clock for what passes between two times: setting the clock of the host does not change it.

    It shows about the time of day, but only for as long as nobody does.
    """
    return _STARTED_MS + time.monotonic_ns() // 1_000_000


_STARTED_MS = now_ms() - time.monotonic_ns() // 1_000_000
