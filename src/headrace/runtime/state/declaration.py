"""What is known of a state beside its entries: its kind, type and time-to-live.

It is saved with each snapshot. The rules by which a declaration may differ from what was saved are
here too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from headrace.common.errors import StateError, StateMigrationError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

__all__ = [
    "FORMAT_VERSION",
    "StateKind",
    "StateMeta",
    "TtlPolicy",
    "describe",
    "require_compatible",
    "types_agree",
]

FORMAT_VERSION = 1
"""Version of the layout of entries inside a snapshot."""

_UNDECLARED = "PickledByteArrayTypeInfo"


class StateKind(Enum):
    """The five kinds of keyed state."""

    VALUE = "ValueState"
    LIST = "ListState"
    MAP = "MapState"
    REDUCING = "ReducingState"
    AGGREGATING = "AggregatingState"


_KINDS: dict[type[StateDescriptor], StateKind] = {
    ValueStateDescriptor: StateKind.VALUE,
    ListStateDescriptor: StateKind.LIST,
    MapStateDescriptor: StateKind.MAP,
    ReducingStateDescriptor: StateKind.REDUCING,
    AggregatingStateDescriptor: StateKind.AGGREGATING,
}


@dataclass(frozen=True, slots=True)
class TtlPolicy:
    """A `StateTtlConfig` in plain values, as the runtime reads it and a snapshot keeps it."""

    ttl_ms: int
    refresh_on_read: bool
    return_expired: bool
    trim_full_snapshots: bool
    cleanup_size: int
    cleanup_for_every_record: bool

    @staticmethod
    def of(config: StateTtlConfig) -> TtlPolicy:
        strategies = config.get_cleanup_strategies()
        incremental = strategies.get_incremental_cleanup_strategy()
        return TtlPolicy(
            ttl_ms=config.ttl_ms,
            refresh_on_read=config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite,
            return_expired=config.get_state_visibility()
            is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp,
            trim_full_snapshots=strategies.in_full_snapshot(),
            cleanup_size=0 if incremental is None else incremental.get_cleanup_size(),
            cleanup_for_every_record=incremental is not None
            and incremental.run_cleanup_for_every_record(),
        )


@dataclass(frozen=True, slots=True)
class StateMeta:
    """What a snapshot says about one state."""

    name: str
    kind: StateKind
    type_repr: str
    namespaced: bool
    ttl: TtlPolicy | None
    version: int = FORMAT_VERSION
    type_info: TypeInformation | None = None

    def __str__(self) -> str:
        scope = " for each key and window" if self.namespaced else ""
        return f"{self.kind.value} of {self.type_repr}{scope}"


def describe(descriptor: StateDescriptor, namespaced: bool) -> StateMeta:
    """The metadata of the state that a descriptor declares."""
    kind = next((k for known, k in _KINDS.items() if isinstance(descriptor, known)), None)
    if kind is None:
        raise StateError(
            f"{type(descriptor).__name__} does not declare keyed state; use one of "
            f"{', '.join(known.__name__ for known in _KINDS)}"
        )
    config = descriptor.ttl_config
    return StateMeta(
        name=descriptor.get_name(),
        kind=kind,
        type_repr=repr(descriptor.type_info),
        namespaced=namespaced,
        ttl=None if config is None else TtlPolicy.of(config),
        type_info=descriptor.type_info,
    )


def require_compatible(
    known: StateMeta,
    declared: StateMeta,
    operator_uid: str | None,
    *,
    restored: bool,
    upgradable: bool = False,
) -> None:
    """Refuses a declaration that does not fit the entries that are there.

    The settings of a time-to-live may change, its presence may not: entries with one carry a
    timestamp. A type may become declared or undeclared, since the stored objects are the same.

    Args:
        known: What the entries are.
        declared: What the program says.
        operator_uid: Names the operator in errors.
        restored: Whether the entries come from a snapshot.
        upgradable: Whether there is a way from the known type to the declared one.

    Raises:
        StateMigrationError: The entries come from a snapshot.
        StateError: The state was declared differently in this run.
    """
    owner = "" if operator_uid is None else f" of operator {operator_uid!r}"
    subject = f"state {known.name!r}{owner}"
    same_shape = known.kind is declared.kind and known.namespaced == declared.namespaced
    if not same_shape or not (upgradable or types_agree(known.type_repr, declared.type_repr)):
        if restored:
            raise StateMigrationError(
                f"{subject} was saved as {known} but is now declared as {declared}; declare it as "
                "it was saved, say with migrate_from() of the descriptor how old values become new "
                "ones, or choose a new state name to start empty"
            )
        raise StateError(
            f"The state name {known.name!r} is already in use{owner}: it is declared twice, as "
            f"{known} and as {declared}; a name stands for one state, so rename one of them"
        )
    if (known.ttl is None) != (declared.ttl is None):
        before, now = ("without", "with") if known.ttl is None else ("with", "without")
        if restored:
            raise StateMigrationError(
                f"{subject} was saved {before} time-to-live but is now declared {now} it, and its "
                f"entries cannot be read that way; declare it {before} time-to-live, or choose "
                "a new state name to start empty"
            )
        raise StateError(
            f"{subject} is declared twice, once {before} and once {now} time-to-live; use the same "
            "descriptor, or give one of them another name"
        )


def types_agree(one: str, other: str) -> bool:
    """Whether two types, as they print, hold the same objects."""
    return one == other or _matches(one, other) or _matches(other, one)


def _matches(pattern: str, type_repr: str) -> bool:
    """Whether the types agree when undeclared parts of `pattern` stand for anything."""
    if _UNDECLARED not in pattern:
        return False
    return re.fullmatch(re.escape(pattern).replace(_UNDECLARED, ".*"), type_repr) is not None
