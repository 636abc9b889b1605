"""Settings of an operator: name, uid, parallelism, chaining; and checks of such arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.execution_config import ExecutionConfig
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import Chaining, Transformation

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_base import StreamBase
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

S = TypeVar("S", bound="OperatorSettings")

_MAX_PARALLELISM = 1 << 15


def resolved_type(output_type: Any, operation: str) -> tuple[TypeInformation, bool]:
    """The type of a stream, and whether records must be converted to it."""
    if output_type is None:
        return Types.PICKLED_BYTE_ARRAY(), False
    if isinstance(output_type, list):
        return Types.ROW(output_type), True
    if not isinstance(output_type, TypeInformation):
        raise FunctionTypeError(
            "output_type must be None, list or TypeInformation such as Types.STRING(): "
            f"{operation} got {output_type!r}"
        )
    return output_type, True


class OperatorSettings:
    """Name, uid, parallelism and the like, of a stream's operator or of a sink."""

    _environment: StreamExecutionEnvironment
    _transformation: Transformation

    def _settable(self, what: str) -> Transformation:
        if self._transformation.virtual:
            raise GraphError(
                f"{what} for {type(self).__name__} is not supported. Call it right after the "
                f"operation it belongs to, not after {self._transformation.name.lower()}"
            )
        return self._transformation

    def name(self: S, name: str) -> S:
        """Name the operator, for plans, logs and metrics."""
        if not isinstance(name, str):
            raise FunctionTypeError(f"name() takes a str, not {name!r}")
        self._settable("Set name").name = name
        return self

    def uid(self: S, uid: str) -> S:
        """Give the operator an id that does not change when the program does, for its state."""
        if not isinstance(uid, str) or not uid:
            raise FunctionTypeError(f"uid() takes a non-empty str, not {uid!r}")
        transformation = self._settable("Set uid")
        self._environment.check_uid(transformation, uid)
        transformation.uid = uid
        return self

    def set_uid_hash(self: S, uid_hash: str) -> S:
        """Give the operator its id itself: 32 hexadecimal digits."""
        transformation = self._settable("Set uid hash")
        digits = set("0123456789abcdefABCDEF")
        if not isinstance(uid_hash, str) or len(uid_hash) != 32 or set(uid_hash) - digits:
            raise GraphError(
                "Node hash must be a 32 character String that describes a hex code. "
                f"Found: {uid_hash}"
            )
        transformation.uid_hash = uid_hash
        return self

    def set_description(self: S, description: str) -> S:
        """Describe the operator, for plans."""
        self._settable("Set description").description = description
        return self

    def set_parallelism(self: S, parallelism: int) -> S:
        """Set the number of parallel subtasks of the operator."""
        transformation = self._settable("Set parallelism")
        value = check_parallelism(parallelism)
        if transformation.force_non_parallel and value not in (None, 1):
            raise GraphError(
                f"The parallelism of non parallel operator must be 1. ({transformation.name})"
            )
        transformation.parallelism = value or transformation.parallelism
        return self

    def set_max_parallelism(self: S, max_parallelism: int) -> S:
        """Set the number of key groups, the highest parallelism this operator can ever have."""
        transformation = self._settable("Set max parallelism")
        transformation.max_parallelism = check_max_parallelism(max_parallelism)
        return self

    def force_non_parallel(self: S) -> S:
        """Make the operator run with parallelism 1."""
        transformation = self._settable("Set force non-parallel")
        transformation.parallelism = 1
        transformation.max_parallelism = 1
        transformation.force_non_parallel = True
        return self

    def set_buffer_timeout(self: S, timeout_millis: int) -> S:
        """Accepted as in Flink; records are handed on at the end of each epoch at the latest."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise GraphError(f"timeout must be >= -1, not {timeout_millis!r}")
        self._settable("Set buffer timeout").buffer_timeout_ms = timeout_millis
        return self

    def slot_sharing_group(self: S, slot_sharing_group: str | SlotSharingGroup) -> S:
        """Put the operator and those after it into a slot sharing group: processes of their own."""
        name = (
            slot_sharing_group.get_name()
            if isinstance(slot_sharing_group, SlotSharingGroup)
            else slot_sharing_group
        )
        if not isinstance(name, str):
            raise FunctionTypeError(
                f"slot_sharing_group() takes a str or SlotSharingGroup, not {name!r}"
            )
        self._settable("Setting slot sharing group").slot_sharing_group = name
        return self

    def disable_chaining(self: S) -> S:
        """Let the operator share its task with no other."""
        self._settable("Disable chaining").chaining = Chaining.NEVER
        return self

    def start_new_chain(self: S) -> S:
        """Start a new chain with this operator."""
        self._settable("Start new chain").chaining = Chaining.HEAD
        return self


def check_parallelism(parallelism: Any) -> int | None:
    """A parallelism, or None for the default (-1)."""
    if isinstance(parallelism, bool) or not isinstance(parallelism, int):
        raise FunctionTypeError(f"the parallelism must be an int, not {parallelism!r}")
    if parallelism == ExecutionConfig.PARALLELISM_DEFAULT:
        return None
    if not 1 <= parallelism <= _MAX_PARALLELISM:
        raise GraphError(
            "The parallelism of an operator must be at least 1, or "
            "ExecutionConfig.PARALLELISM_DEFAULT (use system default), and at most "
            f"{_MAX_PARALLELISM}; found: {parallelism}"
        )
    return parallelism


def check_max_parallelism(max_parallelism: Any) -> int:
    """A max parallelism."""
    if isinstance(max_parallelism, bool) or not isinstance(max_parallelism, int):
        raise FunctionTypeError(f"the max parallelism must be an int, not {max_parallelism!r}")
    if not 1 <= max_parallelism <= _MAX_PARALLELISM:
        raise GraphError(
            f"maxParallelism is out of bounds 0 < maxParallelism <= 32768. Found: {max_parallelism}"
        )
    return max_parallelism


def transformation_of(stream: OperatorSettings) -> Transformation:
    """What a stream stands for in the graph; for whoever builds upon it here, not for programs."""
    return stream._transformation


def record_type(stream: StreamBase[Any]) -> TypeInformation:
    """The type of a stream's records, of a keyed one too."""
    return stream._record_type()


def declared_type(stream: StreamBase[Any]) -> TypeInformation | None:
    """The type of a stream's records, unless they are any Python objects."""
    own_type = record_type(stream)
    return None if own_type == Types.PICKLED_BYTE_ARRAY() else own_type


def applied(
    stream: DataStream[Any],
    name: str,
    spec: OperatorSpec,
    output_type: Any,
    operation: str,
    *others: DataStream[Any],
) -> DataStream[Any]:
    """The stream that an operator makes of this one, and of others if it has several inputs."""
    inputs = [transformation_of(s) for s in (stream, *others)]
    return stream._apply(name, spec, *resolved_type(output_type, operation), inputs)
