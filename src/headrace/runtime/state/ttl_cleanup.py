"""Removing expired entries: what is left of a stored value, and walking a table in small steps.

With time-to-live a table stores `(value, timestamp)` in place of a value, lists of such pairs, or
dicts of them; the timestamp is that of the last write (or read). A pair has expired when its
timestamp is not after the *horizon*, the present time less the time-to-live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from headrace.runtime.state.declaration import StateKind, TtlPolicy
from headrace.runtime.state.kinds import Entries

__all__ = ["IncrementalCleaner", "Stamped", "Trim", "trim_for"]

Stamped = tuple[Any, int]
Trim = Callable[[Any, int], Any]
"""Takes what is stored and the horizon; returns the same object if nothing in it has expired,
otherwise a new one without the expired parts, or None if nothing is left."""


def _trim_single(stored: Stamped, horizon: int) -> Stamped | None:
    return stored if stored[1] > horizon else None


def _trim_list(stored: list[Stamped], horizon: int) -> list[Stamped] | None:
    kept = [pair for pair in stored if pair[1] > horizon]
    return stored if len(kept) == len(stored) else kept or None


def _trim_map(stored: dict[Any, Stamped], horizon: int) -> dict[Any, Stamped] | None:
    kept = {key: pair for key, pair in stored.items() if pair[1] > horizon}
    return stored if len(kept) == len(stored) else kept or None


def trim_for(kind: StateKind) -> Trim:
    """How entries of a kind are trimmed."""
    if kind is StateKind.LIST:
        return _trim_list
    if kind is StateKind.MAP:
        return _trim_map
    return _trim_single


class IncrementalCleaner:
    """Walks through a table, a few entries at a time, and removes what has expired.

    A walk goes over the addresses that existed when it started; the next one starts when it is
    through. The list of addresses costs memory for one reference to each.
    """

    __slots__ = ("_clock", "_entries", "_policy", "_touch", "_trim", "_walk")

    def __init__(
        self,
        entries: Entries,
        trim: Trim,
        policy: TtlPolicy,
        clock: Callable[[], int],
        touch: Callable[[Any], object],
    ) -> None:
        self._entries = entries
        self._trim = trim
        self._policy = policy
        self._clock = clock
        self._touch = touch
        self._walk: Iterator[Any] = iter(())

    def on_access(self) -> None:
        """The state is being used."""
        self._check(self._policy.cleanup_size)

    def after_batch(self, records: int) -> None:
        """So many records were processed, whether they used the state or not."""
        if self._policy.cleanup_for_every_record:
            self._check(self._policy.cleanup_size * records)

    def _next(self, count: int) -> list[Any]:
        if count >= len(self._entries):
            self._walk = iter(())
            return list(self._entries)
        addresses = list(islice(self._walk, count))
        if len(addresses) < count:
            self._walk = iter(list(self._entries))
            addresses.extend(islice(self._walk, count - len(addresses)))
        return addresses

    def _check(self, count: int) -> None:
        entries = self._entries
        horizon = self._clock() - self._policy.ttl_ms
        for address in self._next(count):
            stored = entries.get(address)
            if stored is None:
                continue
            kept = self._trim(stored, horizon)
            if kept is not stored:
                if kept is None:
                    entries.pop(address)
                else:
                    entries[address] = kept
                self._touch(address)
