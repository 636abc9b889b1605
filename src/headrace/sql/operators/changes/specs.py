"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.operators.emission import Emission
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType, DecimalType

_PACKAGE = "headrace.sql.operators.changes"


@dataclass(frozen=True)
class ToChangelogSpec(OperatorSpec):
    """Changes as rows with a code; `changes` says whether rows end with their kind."""

    codes: tuple[str | None, ...]
    changes: bool

    kind: ClassVar[str] = "ToChangelog"
    operator: ClassVar[str] = f"{_PACKAGE}.codes:ToChangelogOperator"


@dataclass(frozen=True)
class FromChangelogSpec(OperatorSpec):
    """Rows with a code in the column `op` as changes; `kinds` are those of the codes."""

    op: int
    kinds: tuple[tuple[str, int], ...]

    kind: ClassVar[str] = "FromChangelog"
    operator: ClassVar[str] = f"{_PACKAGE}.codes:FromChangelogOperator"


@dataclass(frozen=True)
class ConstraintSpec(OperatorSpec):
    """Looks at columns with constraints.

    Attributes:
        names: Of all columns.
        not_null: Columns without NULL: it is an error, or with `drop` there is no row.
        checked: Columns with a length, or with constraints inside, and their types.
        lengths: ERROR fails at a wrong length, TRIM_PAD makes the value fit.
        collections: Whether constraints inside of arrays and maps count.
    """

    names: tuple[str, ...]
    not_null: tuple[int, ...]
    checked: tuple[tuple[int, DataType], ...] = ()
    lengths: str = "IGNORE"
    collections: bool = False
    drop: bool = False

    kind: ClassVar[str] = "ConstraintEnforcer"
    operator: ClassVar[str] = f"{_PACKAGE}.constraints:ConstraintOperator"

    @classmethod
    def of_decimals(cls, schema: Schema) -> ConstraintSpec | None:
        """For results: of what is NOT NULL, only a decimal with too many digits may be NULL."""
        columns = tuple(
            i
            for i, f in enumerate(schema)
            if isinstance(f.type, DecimalType) and not f.type.is_nullable
        )
        return cls(tuple(schema.names), columns) if columns else None


@dataclass(frozen=True)
class ChangelogNormalizeSpec(OperatorSpec):
    """All changes of rows whose newest one of each key comes in."""

    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "ChangelogNormalize"
    operator: ClassVar[str] = f"{_PACKAGE}.normalize:ChangelogNormalizeOperator"


@dataclass(frozen=True)
class UpsertMaterializeSpec(OperatorSpec):
    """The row that counts for each key of a sink."""

    ttl_ms: int = 0

    kind: ClassVar[str] = "SinkMaterializer"
    operator: ClassVar[str] = f"{_PACKAGE}.upsert_materialize:UpsertMaterializeOperator"


@dataclass(frozen=True)
class LastChangesSpec(OperatorSpec):
    """The last row of each key in an epoch; `keys` are the columns of the key."""

    keys: tuple[int, ...]

    kind: ClassVar[str] = "LastChanges"
    operator: ClassVar[str] = f"{_PACKAGE}.last_changes:LastChangesOperator"


@dataclass(frozen=True)
class ResolveConflictsSpec(OperatorSpec):
    """The first row of each key of a sink, or an error.

    Attributes:
        names: Of the columns of the key, for the error.
        row_key: The columns that name a row of the query; None: all of them.
        fails: Whether several rows are an error, rather than the first one counting.
        changes: Whether rows end with their kind.
        ttl_ms: How long the row of a key is kept; 0 is for ever.
    """

    names: tuple[str, ...]
    row_key: tuple[int, ...] | None
    fails: bool
    changes: bool
    ttl_ms: int = 0

    kind: ClassVar[str] = "ConflictResolver"
    operator: ClassVar[str] = f"{_PACKAGE}.resolve_conflicts:ResolveConflictsOperator"
