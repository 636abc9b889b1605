"""Names for side outputs.

A function sends a record to a side output by yielding `(tag, value)` or by calling `ctx.output(tag,
value)`; `DataStream.get_side_output(tag)` reads it.
"""

from __future__ import annotations

from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation, Types

__all__ = ["OutputTag"]


class OutputTag:
    """A typed name for a side output.

    Two tags are the same side output when their ids are equal, so a tag may be created again where
    it is needed. Tags are hashable and picklable.

    Args:
        tag_id: The name, unique among the side outputs of one operator.
        type_info: Type of the records. A list of types stands for a row of these; without a type
            the records may be any Python objects.

    Example:
        >>> late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
        >>> OutputTag("late") == late
        True
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(
        self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None
    ) -> None:
        if tag_id is not None and not isinstance(tag_id, str):
            raise FunctionTypeError(
                f"the id of an OutputTag must be a string, not {tag_id!r}; write OutputTag('late')"
            )
        if not tag_id:
            raise GraphError(
                "OutputTag tag_id cannot be None or empty string: write for example "
                "OutputTag('late')"
            )
        self.tag_id = tag_id
        self.type_info: TypeInformation
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = Types.ROW(type_info)
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            raise FunctionTypeError(
                "OutputTag type_info must be None, list or TypeInformation such as "
                f"Types.STRING(); for {tag_id!r} it is {type_info!r}"
            )

    def get_id(self) -> str:
        """Returns the tag's id."""
        return self.tag_id

    def get_type_info(self) -> TypeInformation:
        """Returns the type of the side output's records."""
        return self.type_info

    def __eq__(self, other: object) -> bool:
        """Tags are equal when their ids are."""
        if self is other:
            return True
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        """Hashes the id."""
        return hash(self.tag_id)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a call of the constructor."""
        return OutputTag, (self.tag_id, self.type_info)

    def __repr__(self) -> str:
        """Shows id and type."""
        return f"OutputTag({self.tag_id!r}, {self.type_info!r})"
