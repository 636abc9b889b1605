"""Where a subscription begins and ends, and which keys count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.datastream.connectors.pulsar.service import Position, position_of

__all__ = ["RangeGenerator", "StartCursor", "StopCursor"]

_MESSAGE, _PUBLISHED, _EVENT, _LATEST = "message id", "publish time", "event time", "latest"


@dataclass(frozen=True)
class StartCursor:
    """Where a new subscription begins; make one with the functions below.

    Attributes:
        position: Begin at, or after, this message.
        inclusive: Whether at it.
        published_ms: Begin with what was published at this time or later.
        at_end: Begin with what comes from now on; without any of these, with the oldest message.
    """

    position: Position | None = None
    inclusive: bool = True
    published_ms: int | None = None
    at_end: bool = False

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """The oldest message."""
        return StartCursor.earliest()

    @staticmethod
    def earliest() -> StartCursor:
        """The oldest message."""
        return StartCursor()

    @staticmethod
    def latest() -> StartCursor:
        """What is published from now on."""
        return StartCursor(at_end=True)

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        """A message, by the bytes of its id: `message.message_id().serialize()`."""
        return StartCursor(position_of(message_id), inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """What was published at this time in milliseconds, or later."""
        return StartCursor(published_ms=_checked_time(timestamp))


@dataclass(frozen=True)
class StopCursor:
    """Where reading ends; make one with the functions below.

    Attributes:
        by: What of a message is compared; None for no end.
        limit: With what: a time in milliseconds, or a position.
        inclusive: Whether a message at the limit is still read.
    """

    by: str | None = None
    limit: Any = None
    inclusive: bool = False

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """No end."""
        return StopCursor.never()

    @staticmethod
    def never() -> StopCursor:
        """No end."""
        return StopCursor()

    @staticmethod
    def latest() -> StopCursor:
        """The last message that is there when the source starts."""
        return StopCursor(_LATEST, None, True)

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """Before the first message whose event time is this or later."""
        return StopCursor(_EVENT, _checked_time(timestamp))

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """Before the first message whose event time is later."""
        return StopCursor(_EVENT, _checked_time(timestamp), True)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """Before the first message that was published at this time or later."""
        return StopCursor(_PUBLISHED, _checked_time(timestamp))

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """Before the first message that was published later."""
        return StopCursor(_PUBLISHED, _checked_time(timestamp), True)

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        """Before this message, given by the bytes of its id."""
        return StopCursor(_MESSAGE, position_of(message_id))

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        """After this message, given by the bytes of its id."""
        return StopCursor(_MESSAGE, position_of(message_id), True)

    @property
    def needs_last(self) -> bool:
        """Whether the end is known only once the last message of a partition is."""
        return self.by == _LATEST

    def at_last(self, position: Position) -> StopCursor:
        """The end after a message."""
        return StopCursor(_MESSAGE, position, True)

    def reached_at(self, position: Position) -> bool:
        """Whether nothing is left to read when everything up to a position has been read."""
        return self.by == _MESSAGE and position >= self.limit

    def is_before(self, message: Any) -> bool:
        """Whether the end comes before a message."""
        if self.by is None:
            return False
        at: Any = (
            message.event_timestamp()
            if self.by == _EVENT
            else message.publish_timestamp()
            if self.by == _PUBLISHED
            else position_of(message.message_id())
        )
        return bool(at > self.limit if self.inclusive else at >= self.limit)


def _checked_time(timestamp: Any) -> int:
    if isinstance(timestamp, bool) or not isinstance(timestamp, int):
        raise FunctionTypeError(f"a time is an int of milliseconds, not {timestamp!r}")
    return timestamp


@dataclass(frozen=True)
class RangeGenerator:
    """Which messages are read, by their keys; make one with the functions below.

    Flink takes those whose keys have the same hash as the given ones, here the keys are compared.
    Messages with other keys count as read by the subscription.
    """

    everything: bool = True
    without_key: bool = False
    keys: frozenset[str] = frozenset()
    ordering_key: str | None = None

    @staticmethod
    def full() -> RangeGenerator:
        """All messages."""
        return RangeGenerator()

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: str | list[str] | None = None,
        key_bytes: bytes | None = None,
        ordering_key_bytes: bytes | None = None,
    ) -> RangeGenerator:
        """Messages with some keys.

        Args:
            support_null_key: Those without a key.
            keys: Those with one of these keys.
            key_bytes: Those with this key, given as bytes.
            ordering_key_bytes: Those with this ordering key, which counts before the key.
        """
        given = [keys] if isinstance(keys, str) else list(keys or ())
        # The client library has keys as text.
        given += [] if key_bytes is None else [key_bytes.decode()]
        ordering = None if ordering_key_bytes is None else ordering_key_bytes.decode()
        return RangeGenerator(False, support_null_key, frozenset(given), ordering)

    def takes(self, message: Any) -> bool:
        """Whether a message is to be read."""
        if self.everything:
            return True
        ordering: str = message.ordering_key()
        if ordering:
            return ordering == self.ordering_key
        key: str = message.partition_key()
        return key in self.keys if key else self.without_key
