"""Taking ratios: warm up, alternate, and look at pairs rather than at means."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        name: What was measured.
        ours: headrace's figure, in ``unit``.
        theirs: The figure of what it is compared with.
        ratio: The ratio that the goal speaks of.
        goal: The bound on the ratio, or none.
        at_least: Whether the ratio must reach the bound, or must not exceed it.
    """

    name: str
    peer: str
    unit: str
    ours: float
    theirs: float
    ratio: float
    goal: float | None = None
    at_least: bool = True
    samples: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def timed(action: Callable[[], Any]) -> float:
    """Seconds that an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def alternate(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Run both once to warm up and then in turns, so that a busy minute hits both alike.

    Each returns what it measured.
    """
    theirs()
    ours()
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            mine, other = ours(), theirs()
        else:
            other, mine = theirs(), ours()
        pairs.append((mine, other))
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def middle_ratio(numerators: list[float], denominators: list[float]) -> float:
    """The median of the ratios of neighbouring runs."""
    return statistics.median(n / d for n, d in zip(numerators, denominators, strict=True))


def seconds_to_first_line(command: list[str]) -> float:
    """Start a program and wait for the first line that it prints."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.stdout.read()
    if not line or process.returncode:
        raise RuntimeError(f"{' '.join(command)} printed nothing or ended with an error")
    return took


def descendants(pid: int) -> list[int]:
    """All processes below one, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    todo = [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def executors() -> list[int]:
    """The processes of Spark's executors below this one, in the order of their starts."""
    below = sorted(descendants(os.getpid()))
    return [pid for pid in below if "CoarseGrainedExecutorBackend" in _command(pid)]


def _command(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
        return file.read().replace("\0", " ")
    return ""


def python_memory_kib(pid: int) -> dict[int, int]:
    """Resident memory of each Python process below one; Spark's JVM is not counted."""
    sizes = {}
    for child in descendants(pid):
        try:
            with open(f"/proc/{child}/status") as file:
                status = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        if "VmRSS" in status and status["Name"].strip() != "java":
            sizes[child] = int(status["VmRSS"].split()[0])
    return sizes
