"""`PlanReference`: where a compiled plan is."""

from __future__ import annotations

from pathlib import Path

from headrace.util.exceptions import TableException

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]


class PlanReference:
    """Points to a plan that `CompiledPlan` wrote."""

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """A plan in a file."""
        return FilePlanReference(path)

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """A plan as text."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """A plan as the bytes of `CompiledPlan.as_smile_bytes()`."""
        return BytesContentPlanReference(smile_bytes)

    def json(self) -> str:
        """The text of the plan."""
        raise NotImplementedError("a kind of reference says where the text is")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def get_file(self) -> Path:
        """The file's path."""
        return self._path

    def __str__(self) -> str:
        return f"Plan from file '{self._path}'"

    def json(self) -> str:
        """The text of the plan."""
        try:
            return self._path.read_text(encoding="utf-8")
        except OSError as error:
            raise TableException(f"Cannot load Plan from file '{self._path}'. {error}") from error


class JsonContentPlanReference(PlanReference):
    """A plan as text."""

    def __init__(self, content: str) -> None:
        self._content = content

    def get_content(self) -> str:
        """The text."""
        return self._content

    def json(self) -> str:
        """The text of the plan."""
        return self._content

    def __str__(self) -> str:
        return f"Plan:\n{self._content}"


class BytesContentPlanReference(PlanReference):
    """A plan as the bytes of `CompiledPlan.as_smile_bytes()`."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def get_content(self) -> bytes:
        """The bytes."""
        return self._content

    def json(self) -> str:
        """The text of the plan."""
        try:
            return self._content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TableException(f"Cannot load Plan from bytes: {error}") from error

    def __str__(self) -> str:
        return f"Plan:\n{list(self._content)}"
