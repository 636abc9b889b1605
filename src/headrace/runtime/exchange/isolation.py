"""Records of their own for each branch: what one function changes, another does not see.

PyFlink gives every branch a copy, since each of them deserializes its input. Here functions of a
chain are called with the objects themselves, so a copy is made where more than one takes them.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from itertools import chain
from typing import Any

from headrace.datastream.output_tag import OutputTag
from headrace.runtime.batch import Batch, ColumnBatch, LatencyMark, Receiver
from headrace.runtime.ownership import PLAIN

__all__ = ["IsolatedReceiver", "isolate"]


class IsolatedReceiver:
    """Hands an operator copies of the records."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.process_watermark = receiver.process_watermark
        self.process_status = receiver.process_status
        self.end_input = receiver.end_input

    def process_batch(self, batch: Batch) -> None:
        # Nobody can change columns of Arrow.
        values = batch.values if type(batch) is ColumnBatch else own_values(batch.values)
        if values is not batch.values:
            batch = Batch(values, batch.timestamps, batch.keys)  # type: ignore[arg-type]
        self._receiver.process_batch(batch)

    def process_latency(self, mark: LatencyMark) -> None:
        self._receiver.process_latency(mark)


def isolate(
    receivers: Sequence[tuple[OutputTag | None, Receiver, bool]],
) -> list[tuple[OutputTag | None, Receiver]]:
    """The receivers of an operator, by tag, with copies for those that may change records.

    Args:
        receivers: Tags, receivers, and whether each may change what it gets. An exchange does not,
            but it reads records later, when others have seen them.
    """
    shared = any(not changes for _, _, changes in receivers)
    # One record may go to several side outputs, and each is emitted by itself.
    several_tags = len({tag and tag.tag_id for tag, _, _ in receivers}) > 1
    last = None if shared or several_tags else receivers[-1][1]
    return [
        (tag, IsolatedReceiver(receiver) if changes and receiver is not last else receiver)
        for tag, receiver, changes in receivers
    ]


def own_values(values: list[Any]) -> list[Any]:
    """A copy of records, or the list itself if the records are immutable."""
    types = set(map(type, values))
    if types <= PLAIN:
        return values
    if types - PLAIN == {tuple}:
        tuples = (v for v in values if type(v) is tuple)
        if set(map(type, chain.from_iterable(tuples))) <= PLAIN:
            return values
    try:
        copied: list[Any] = pickle.loads(pickle.dumps(values, 5))
    except Exception:  # noqa: BLE001 - the user's class; copying may work
        # A class of a function, for example, that only cloudpickle can ship.
        copied = copy.deepcopy(values)
    return copied
