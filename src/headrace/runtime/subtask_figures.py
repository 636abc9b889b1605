"""What a subtask tells about itself with every report: metrics, latencies, its hottest key.

Nothing here is done for every record: keys are sampled, a few of each batch, and metrics are read
once an epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import shorten_repr
from headrace.metrics import MetricGroup
from headrace.runtime.batch import LatencyMark
from headrace.runtime.epoch import HotKey
from headrace.runtime.operator import Operator, TaskInfo

__all__ = ["MetricSettings", "SubtaskFigures"]

_KEYS_OF_BATCH = 16
_KEYS_KEPT = 256
_SAMPLE_SIZE = 4_000
_LEAST_SAMPLE = 64


@dataclass(frozen=True)
class MetricSettings:
    """Whether metrics are reported, and how often sources send latency markers (0: never)."""

    enabled: bool = True
    latency_interval_ms: int = 0


class SubtaskFigures:
    """Collects the figures of one subtask."""

    def __init__(self, task: TaskInfo, settings: MetricSettings) -> None:
        self._task = task
        self._settings = settings
        self._groups: dict[str, MetricGroup] = {}
        self._keys: dict[Any, int] = {}
        self._sampled = 0
        self._hot_key: HotKey | None = None
        self._sampled_since = 0
        self._next_mark_ms = 0
        self._latencies: dict[tuple[str, str], dict[str, Any]] = {}

    def group(self, operator_id: str, name: str) -> MetricGroup:
        """The metrics of an operator; operators of one name have groups of their own."""
        group = self._groups[operator_id] = MetricGroup(
            (name,),
            {
                "<job_id>": self._task.job_id,
                "<job_name>": self._task.job_name,
                "<task_name>": self._task.vertex_name,
                "<subtask_index>": str(self._task.subtask),
                "<task_attempt_num>": str(self._task.restarts),
                "<operator_id>": operator_id,
                "<operator_name>": name,
            },
        )
        return group

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Present values by operator, as plain numbers and texts."""
        if not self._settings.enabled:
            return {}
        collected = {i: group.collect(below=1) for i, group in self._groups.items()}
        return {i: {n: _plain(v) for n, v in found.items()} for i, found in collected.items()}

    def latencies(self, operators: Iterable[Operator]) -> dict[tuple[str, str], dict[str, Any]]:
        """Histograms of latency by source and operator, if markers are sent."""
        known = self._latencies
        for operator in operators:
            for source, histogram in operator.latencies.items():
                key = (source, operator.context.operator_id)
                # Most epochs are shorter than the interval of markers: nothing is new then.
                if key not in known or known[key]["count"] != histogram.get_count():
                    known[key] = histogram.snapshot()
        return dict(known)

    def send_mark(self, head: Operator, now: int) -> None:
        """Have a source send a latency marker if one is due."""
        interval = self._settings.latency_interval_ms
        if interval > 0 and now >= self._next_mark_ms:
            self._next_mark_ms = now + interval
            head.output.latency(LatencyMark(now, head.context.operator_id))

    def sample_keys(self, keys: list[Any]) -> None:
        """Look at a few keys of a batch."""
        if not self._settings.enabled:
            return
        counts = self._keys
        step = len(keys) // _KEYS_OF_BATCH + 1
        # Not always the same places: a source may give its keys in turn.
        sample = keys[self._sampled % step :: step]
        try:
            for key in sample:
                counts[key] = counts.get(key, 0) + 1
        except TypeError:
            # Keys that cannot be hashed have another form in state; they are not counted.
            return
        self._sampled += len(sample)
        self._sampled_since += len(sample)
        if self._sampled > _SAMPLE_SIZE or len(counts) > _KEYS_KEPT:
            self._forget_half()

    def _forget_half(self) -> None:
        """What was lately counts more, and keys that are rare are dropped first."""
        self._keys = {key: n // 2 for key, n in self._keys.items() if n > 1}
        self._sampled //= 2

    def hot_key(self) -> HotKey | None:
        """The key with most records, if enough were seen; few more do not change that."""
        if self._sampled_since >= _LEAST_SAMPLE and self._keys:
            self._sampled_since = 0
            key = max(self._keys, key=self._keys.__getitem__)
            self._hot_key = HotKey(shorten_repr(key), min(self._keys[key] / self._sampled, 1.0))
        return self._hot_key


def _plain(value: Any) -> Any:
    """A gauge may give anything; what is neither a number nor a text is shown as a text."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    return value if isinstance(value, int | float | str | None) else shorten_repr(value)
