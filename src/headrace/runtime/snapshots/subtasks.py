"""The state of a subtask taken out, and put into fresh ones: recovery and change of parallelism.

Taking it is quick: state stays where it is, as views, until it is written. That may happen in a
forked child, whose memory stays as it was at the barrier, while the subtask goes on. Where only
some entries changed since the last checkpoint, the views are of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.graph.ids import CheckpointId
from headrace.runtime.exchange.carry_over import CarriedFrames, refused, shared_out
from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.operator import Operator
from headrace.runtime.state.operator_state import OperatorStateSnapshot
from headrace.runtime.state.snapshot import RestorableState, SnapshotKind, StateSnapshot

if TYPE_CHECKING:
    from headrace.runtime.subtask import Subtask

_TIMERS = ("event_timers", "processing_timers")
FEW_ENTRIES = 10_000
_LITTLE_BYTES = 1 << 20


@dataclass(frozen=True)
class SubtaskSnapshot:
    """The state of one subtask by operator id: the operators' own, keyed, and operator state.

    One that was taken has `StateSnapshot`s, whose views can be written once; one that was read has
    what stays in its file until it is needed.

    Attributes:
        subtask: The number of the subtask.
        parallelism: Of how many.
        operators: What operators hold apart from the rest: picklable.
        keyed: Keyed state.
        operator_state: Operator state.
        checkpoint: The number of the checkpoint, or the one that it would have had.
        timers: Timers of keyed operators.
        carried: Frames that the subtask had received and not processed.
        few: Whether it has so few entries that the subtask may wait until they are serialized.
    """

    subtask: int
    parallelism: int
    operators: dict[str, dict[str, Any]]
    keyed: Mapping[str, Any]
    operator_state: dict[str, OperatorStateSnapshot] = field(default_factory=dict)
    checkpoint: CheckpointId | None = None
    timers: Mapping[str, Any] = field(default_factory=dict)
    few: bool = False
    carried: CarriedFrames | None = None

    def serialized(self) -> SubtaskSnapshot:
        """The same with all views turned into bytes."""
        for snapshot in self._states():
            snapshot.serialize()
        for operator_state in self.operator_state.values():
            operator_state.serialized()
        return self

    def release(self) -> None:
        """A forked child serializes it: free what this process holds for it."""
        for snapshot in self._states():
            snapshot.release()

    @property
    def base(self) -> CheckpointId | None:
        """The checkpoint that is needed beside this one, if it is about changes."""
        return next((s.base for s in self._states() if s.base is not None), None)

    def has_state_of(self, operator_id: str) -> bool:
        """Whether anything would be lost without an operator; its event time is not state."""
        if self.carried is not None and self.carried.operator == operator_id:
            return True
        keyed, timers = self.keyed.get(operator_id), self.timers.get(operator_id)
        if (keyed is not None and keyed.states) or (timers is not None and timers.places()):
            return True
        saved = self.operator_state.get(operator_id, OperatorStateSnapshot())
        return any(part.size for part in (*saved.lists.values(), *saved.broadcasts.values()))

    def _states(self) -> list[Any]:
        return [*self.keyed.values(), *self.timers.values()]

    def take_splits(self) -> list[Any] | None:
        """The source's splits with their positions, for the job master; None without a source."""
        for snapshot in self.operators.values():
            if "splits" in snapshot:
                splits: list[Any] = snapshot.pop("splits")
                return splits
        return None


def take_snapshot(
    subtask: Subtask,
    checkpoint: CheckpointId | None = None,
    *,
    base: CheckpointId | None = None,
    savepoint: bool = False,
) -> SubtaskSnapshot:
    """Take a consistent view at the barrier.

    Nothing may run in the subtask before it is serialized or forked.

    Args:
        subtask: What to take it of.
        checkpoint: The number of the checkpoint; none for a snapshot of its own.
        base: A complete checkpoint. If all changes since then are known, only those are taken.
        savepoint: Whether nothing will ever build upon it.
    """
    # A snapshot of its own has no number; functions see the one that a checkpoint would have had.
    subtask.last_checkpoint = number = checkpoint or CheckpointId(subtask.last_checkpoint + 1)
    subtask.before_snapshot(number)
    # Operators before backends: some write what they hold to theirs.
    operators = {o.context.operator_id: o.snapshot() for o in subtask.operators.values()}
    operator_state = {
        o.context.operator_id: state
        for o in subtask.operators.values()
        if (state := o.operator_state.snapshot())
    }
    if base is not None:
        # Whoever names it as a base knows that it is complete; the word may still be on its way.
        subtask.checkpoint_can_be_base(base)
    carried = _carried(subtask)
    few = (
        subtask.has_at_most(FEW_ENTRIES, base)
        and _is_little(operator_state)
        and (carried is None or carried.size <= _LITTLE_BYTES)
    )
    followed = None if savepoint else checkpoint
    keyed: dict[str, StateSnapshot] = {}
    timers: dict[str, StateSnapshot] = {}
    for operator_id, backend in subtask.backends.items():
        kind = _kind(None if base is None else backend.changes_since(base))
        keyed[operator_id] = backend.snapshot(kind, followed, deferred=True)
    for operator_id, own in subtask.timers.items():
        kind = _kind(None if base is None else own.changes_since(base))
        timers[operator_id] = own.snapshot(kind, followed)
    return SubtaskSnapshot(
        subtask.task.subtask,
        subtask.task.parallelism,
        operators,
        keyed,
        operator_state,
        number,
        timers,
        few,
        carried,
    )


def _carried(subtask: Subtask) -> CarriedFrames | None:
    queue = subtask.input.carried
    if not queue:
        return None
    return CarriedFrames(
        subtask.head.context.operator_id,
        {edge.index: described for edge, described in subtask.in_edges},
        queue.__iter__,
        len(queue),
        queue.size,
    )


def _kind(changes: int | None) -> SnapshotKind:
    return SnapshotKind.FULL if changes is None else SnapshotKind.CHANGES


def _is_little(operator_state: dict[str, OperatorStateSnapshot]) -> bool:
    parts = (
        p for s in operator_state.values() for p in (*s.lists.values(), *s.broadcasts.values())
    )
    return sum(part.size for part in parts) <= FEW_ENTRIES


def restore_subtask(subtask: Subtask, snapshots: Sequence[SubtaskSnapshot]) -> None:
    """Give a fresh subtask, before it is opened, its share of the snapshots of its operators.

    An operator that no snapshot knows starts empty; it knows that the job comes from a checkpoint.

    Args:
        subtask: The subtask.
        snapshots: For each subtask of the checkpoint a full one, and changes on top of it, in
            order.
    """
    task = subtask.task
    groups = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
    last = {s.subtask: s for s in snapshots}.values()
    checkpoint = max((s.checkpoint for s in snapshots if s.checkpoint is not None), default=None)
    # Only what is exactly the same as in the checkpoint can be built upon.
    is_same = any(s.subtask == task.subtask and s.parallelism == task.parallelism for s in last)
    base = checkpoint if is_same else None
    for operator_id, backend in subtask.backends.items():
        parts = needed_parts([(s.subtask, s.keyed.get(operator_id)) for s in snapshots])
        if parts:
            backend.restore(parts, groups, base)
    for operator_id, own_timers in subtask.timers.items():
        parts = needed_parts([(s.subtask, s.timers.get(operator_id)) for s in snapshots])
        if parts:
            own_timers.restore(parts, groups, base)
    subtask.last_checkpoint = checkpoint or subtask.last_checkpoint
    for operator in subtask.operators.values():
        operator.restored, operator.restored_checkpoint = True, checkpoint
        operator_id = operator.context.operator_id
        # Operators that are chained now may have been written by subtasks of several vertices.
        own = list({s.subtask: s for s in snapshots if operator_id in s.operators}.values())
        if own:
            operator.restore(_share(operator, own, groups))
        saved = {
            s.subtask: s.operator_state[operator_id] for s in own if operator_id in s.operator_state
        }
        if saved:
            operator.operator_state.restore(
                saved, own[0].parallelism, task.subtask, task.parallelism
            )
    _restore_carried(subtask, snapshots)


def _restore_carried(subtask: Subtask, snapshots: Sequence[SubtaskSnapshot]) -> None:
    task, head = subtask.task, subtask.head.context.operator_id
    for operator in subtask.operators.values():
        operator_id = operator.context.operator_id
        # Of each subtask the last one: changes to state may be in several, but not these.
        last = {s.subtask: s for s in snapshots if operator_id in s.operators}
        for snapshot in (last[number] for number in sorted(last)):
            carried = snapshot.carried
            if carried is None or carried.operator != operator_id:
                continue
            if operator_id != head:
                raise refused(carried, "through an exchange")
            for frame in shared_out(
                carried,
                (snapshot.subtask, snapshot.parallelism),
                subtask.in_edges,
                task.subtask,
                task.parallelism,
                task.max_parallelism,
            ):
                subtask.input.carried.append(frame)


def needed_parts(parts: list[tuple[int, RestorableState | None]]) -> list[RestorableState]:
    """The state of an operator, of each subtask from its last full snapshot on."""
    needed: dict[int, list[RestorableState]] = {}
    for subtask, part in parts:
        if part is not None:
            before = needed.setdefault(subtask, [])
            if part.kind is SnapshotKind.FULL:
                before.clear()
            before.append(part)
    return [part for chain in needed.values() for part in chain]


def _share(operator: Operator, snapshots: list[SubtaskSnapshot], groups: range) -> dict[str, Any]:
    task, operator_id = operator.context.task, operator.context.operator_id
    states = [s.operators[operator_id] for s in snapshots]
    same = [s for s in snapshots if s.parallelism == task.parallelism and s.subtask == task.subtask]
    if same and not operator.context.keyed:
        return same[0].operators[operator_id]
    share = {**states[0], "watermark": min(s["watermark"] for s in states)}
    for kind in _TIMERS:
        # Those of keyed operators are here in format 1 only.
        share[kind] = [
            (timestamp, address)
            for state in states
            for timestamp, address in state.get(kind, ())
            if key_group_of(operator.key_of_timer(address), task.max_parallelism) in groups
        ]
    return share
