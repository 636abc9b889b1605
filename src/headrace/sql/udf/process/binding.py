"""Process table functions as the binder and the slots see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.udf.process.function import ProcessTableFunction
from headrace.sql.udf.process.signature import Signature

__all__ = ["ProcessTableBinding", "process_binding"]


class ProcessTableBinding:
    """A function with what its signature declares."""

    kind = FunctionKind.PROCESS_TABLE

    def __init__(self, function: ProcessTableFunction) -> None:
        self.function = function
        self.name = type(function).__name__
        self.signature = Signature(function)
        self.result: DataType = self.signature.result_type(function)
        self.mode: ChangelogMode = function.get_changelog_mode()

    def bind(self, given: Sequence[DataType]) -> NoReturn:
        """Refuses a call that stands for a value."""
        raise TypeError(
            f"{self.name} is a process table function: call it in FROM, it makes rows of tables"
        )

    @property
    def columns(self) -> RowType:
        """What comes out; a single value is a column without a name."""
        if isinstance(self.result, RowType):
            return self.result
        return RowType([RowField("EXPR$0", self.result)])

    @property
    def inserts_only(self) -> bool:
        return self.mode == ChangelogMode.insert_only()

    @property
    def upserts(self) -> bool:
        """Whether an update comes without the row before it."""
        return not self.inserts_only and RowKind.UPDATE_BEFORE not in self.mode.kinds


def process_binding(function: Any) -> ProcessTableBinding | None:
    """A process table function, or the class of one, as the catalog keeps it; None if it is not."""
    if isinstance(function, type) and issubclass(function, ProcessTableFunction):
        function = function()
    if isinstance(function, ProcessTableBinding):
        return function
    return ProcessTableBinding(function) if isinstance(function, ProcessTableFunction) else None
