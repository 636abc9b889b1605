"""Which operator of a savepoint is meant."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.common.errors import FunctionTypeError
from headrace.graph.ids import OperatorId
from headrace.graph.stream_graph import operator_id_of

__all__ = ["OperatorIdentifier"]


@dataclass(frozen=True)
class OperatorIdentifier:
    """An operator by its uid, or by the id that stands in a savepoint. Use the two methods."""

    operator_id: OperatorId
    uid: str | None = None

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """The operator that has this `uid` in its program."""
        if not isinstance(uid, str) or not uid:
            raise FunctionTypeError(f"a uid must be a non-empty string, not {uid!r}")
        return OperatorIdentifier(operator_id_of(uid), uid)

    @staticmethod
    def for_uid_hash(uid_hash: str) -> OperatorIdentifier:
        """The operator with this id: that of `set_uid_hash`, or of an operator without a uid."""
        if not isinstance(uid_hash, str) or not uid_hash:
            raise FunctionTypeError(f"a uid hash must be a non-empty string, not {uid_hash!r}")
        return OperatorIdentifier(OperatorId(uid_hash))

    @staticmethod
    def of(given: OperatorIdentifier | str) -> OperatorIdentifier:
        """What a user gave: an identifier, or just the uid."""
        if isinstance(given, OperatorIdentifier):
            return given
        return OperatorIdentifier.for_uid(given)

    def __str__(self) -> str:
        """As it is shown in errors."""
        return f"uid {self.uid!r}" if self.uid is not None else f"uid hash {self.operator_id!r}"
