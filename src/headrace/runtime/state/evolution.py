"""Saved state whose declared type has changed: how old values become new ones.

A row with names may gain fields, which are None in old values, and lose fields; so may rows inside
lists, maps and tuples. Any other change needs a function from the user (`migrate_from`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row
from headrace.datastream.state import StateDescriptor
from headrace.runtime.state.declaration import StateKind, StateMeta, types_agree

__all__ = ["Upgrade", "upgrade_of"]

Upgrade = Callable[[Any], Any]
"""Makes a new value of an old one; may return the same object."""


class _NoWayError(Exception):
    """There is no upgrade between two types."""


def upgrade_of(
    saved: StateMeta, declared: StateMeta, descriptor: StateDescriptor
) -> Upgrade | None:
    """How what is stored for one address becomes what the descriptor declares.

    None if nothing has to be done or nothing can be done; `require_compatible` tells the two apart.
    """
    # Snapshots of the first release do not have the type itself.
    old, new = getattr(saved, "type_info", None), declared.type_info
    if old is None or new is None or saved.kind is not declared.kind or repr(old) == repr(new):
        return None
    try:
        upgrade = _leaf_upgrade(*_leaf_types(saved.kind, old, new), descriptor)
    except _NoWayError:
        return None
    return None if upgrade is None else _for_stored(saved, upgrade)


def _leaf_types(
    kind: StateKind, old: TypeInformation, new: TypeInformation
) -> tuple[TypeInformation, TypeInformation]:
    """The types of the values that are upgraded one by one."""
    if kind is StateKind.LIST and isinstance(old, ListTypeInfo) and isinstance(new, ListTypeInfo):
        return old.element_type, new.element_type
    if kind is StateKind.MAP and isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        if not types_agree(repr(old.key_type), repr(new.key_type)):
            raise _NoWayError
        return old.value_type, new.value_type
    return old, new


def _leaf_upgrade(
    old: TypeInformation, new: TypeInformation, descriptor: StateDescriptor
) -> Upgrade | None:
    for migrated, function in descriptor.migrations:
        if repr(migrated) == repr(old):
            return function
    return _between(old, new)


def _for_stored(meta: StateMeta, upgrade: Upgrade) -> Upgrade:
    """The upgrade of what a table holds for one address."""
    leaf = upgrade
    if meta.ttl is not None:

        def leaf(stamped: Any) -> Any:
            value, timestamp = stamped
            return upgrade(value), timestamp

    if meta.kind is StateKind.LIST:
        return lambda stored: [leaf(element) for element in stored]
    if meta.kind is StateKind.MAP:
        return lambda stored: {key: leaf(value) for key, value in stored.items()}
    return leaf


def _between(old: TypeInformation, new: TypeInformation) -> Upgrade | None:
    """The upgrade between two types; None if old values are as good as new ones."""
    if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo) and repr(old) != repr(new):
        return _between_rows(old, new)
    for collection in (ListTypeInfo, ObjectArrayTypeInfo):
        if isinstance(old, collection) and isinstance(new, collection):
            return _for_elements(_between(old.element_type, new.element_type))
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        if _between(old.key_type, new.key_type) is not None:
            raise _NoWayError
        return _for_map_values(_between(old.value_type, new.value_type))
    if isinstance(old, TupleTypeInfo) and isinstance(new, TupleTypeInfo):
        return _between_tuples(old.get_field_types(), new.get_field_types())
    if types_agree(repr(old), repr(new)):
        return None
    raise _NoWayError


def _between_rows(old: RowTypeInfo, new: RowTypeInfo) -> Upgrade:
    old_names, new_names = old.get_field_names(), new.get_field_names()
    old_types = dict(zip(old_names, old.get_field_types(), strict=True))
    new_types = dict(zip(new_names, new.get_field_types(), strict=True))
    if not old_types.keys() & new_types.keys():
        raise _NoWayError
    # For each new field the position of the old one, if there is one, and its upgrade.
    fields = [
        (old_names.index(name), _between(old_types[name], new_types[name]))
        if name in old_types
        else None
        for name in new_names
    ]

    def upgraded(values: Sequence[Any]) -> list[Any]:
        new_values = []
        for field in fields:
            value = None if field is None else values[field[0]]
            if field is not None and field[1] is not None and value is not None:
                value = field[1](value)
            new_values.append(value)
        return new_values

    def upgrade(row: Any) -> Any:
        if isinstance(row, Row):
            names = row.get_field_names()
            values = upgraded(row.get_fields_by_names(old_names) if names else list(row))
            renewed = Row(*values)
            if names:
                renewed.set_field_names(list(new_names))
            renewed.set_row_kind(row.get_row_kind())
            return renewed
        if isinstance(row, dict):
            return dict(zip(new_names, upgraded([row.get(n) for n in old_names]), strict=True))
        return type(row)(upgraded(row)) if isinstance(row, tuple | list) else row

    return upgrade


def _between_tuples(
    old: Sequence[TypeInformation], new: Sequence[TypeInformation]
) -> Upgrade | None:
    if len(old) != len(new):
        raise _NoWayError
    upgrades = [_between(one, other) for one, other in zip(old, new, strict=True)]
    if not any(upgrades):
        return None
    return lambda values: tuple(
        value if upgrade is None or value is None else upgrade(value)
        for upgrade, value in zip(upgrades, values, strict=True)
    )


def _for_elements(upgrade: Upgrade | None) -> Upgrade | None:
    if upgrade is None:
        return None
    return lambda values: [None if value is None else upgrade(value) for value in values]


def _for_map_values(upgrade: Upgrade | None) -> Upgrade | None:
    if upgrade is None:
        return None
    return lambda entries: {
        key: None if value is None else upgrade(value) for key, value in entries.items()
    }
