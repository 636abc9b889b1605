"""How part files are named."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.common.errors import FunctionTypeError, GraphError

__all__ = ["OutputFileConfig"]


@dataclass(frozen=True)
class OutputFileConfig:
    """The beginning and the end of the names of part files: `<prefix>-<id>-<number><suffix>`."""

    part_prefix: str
    part_suffix: str

    def __post_init__(self) -> None:
        """Check the parts of the name where the user wrote them."""
        for part in (self.part_prefix, self.part_suffix):
            if not isinstance(part, str):
                raise FunctionTypeError(f"a part of a file name must be a str, not {part!r}")
            if "/" in part:
                raise GraphError(f"a part of a file name cannot contain '/': {part!r}")

    def get_part_prefix(self) -> str:
        """What names begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What names end with."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder, with `part` and no suffix to begin with."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Builds an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what names begin with."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what names end with, such as `.txt`."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The names."""
            return OutputFileConfig(self._prefix, self._suffix)
