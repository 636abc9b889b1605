"""What Delta's log says of the values of each file, and which files it rules out.

A file may have no statistics, of no column or of some: they are kept for so many columns as the
table was once set to, and a file is older than a column that was added later. Nothing is known of
such a column, and the file may have any rows.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.datastream.connectors.lakehouse.table import ColumnBound

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["path_of", "ruled_out"]

_COMPARED = (int, str, datetime.date)
"""Statistics that are exact. Decimals are not: they are read as floating-point numbers."""


def path_of(logged: str) -> str:
    """A path of the log, where it is part of a URL, as the name of a file."""
    return unquote(logged)


def ruled_out(known: pa.Table, where: Sequence[ColumnBound]) -> set[str]:
    """The paths of files that certainly have no row within the bounds."""
    paths = known["path"].to_pylist()
    found: set[str] = set()
    for bound in where:
        files = _statistics(known, bound.column)
        found.update(path_of(p) for p, file in zip(paths, files, strict=True) if _out(file, bound))
    return found


class _Statistics:
    """Of a column in a file: None is what is not known."""

    def __init__(self, least: Any, most: Any, nulls: int | None, rows: int | None) -> None:
        self.least, self.most = _plain(least), _plain(most)
        self.has_null = None if nulls is None else nulls > 0
        self.has_value = None if nulls is None or rows is None else nulls < rows


def _statistics(known: pa.Table, column: str) -> Iterable[_Statistics]:
    partition = _field(known, "partition", column)
    if partition is not None:
        return [_Statistics(v, v, int(v is None), 1) for v in partition]
    nothing = [None] * len(known)
    parts = [_field(known, part, column) or nothing for part in ("min", "max", "null_count")]
    rows = known["num_records"].to_pylist()
    return [_Statistics(*values) for values in zip(*parts, rows, strict=True)]


def _field(known: pa.Table, part: str, column: str) -> list[Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if part not in known.schema.names:
        return None
    kind = known.schema.field(part).type
    if not pa.types.is_struct(kind) or kind.get_field_index(column) < 0:
        return None
    try:
        return list(pc.struct_field(known[part], [kind.get_field_index(column)]).to_pylist())
    except (ValueError, OverflowError):
        # Such as years that Python does not have.
        return None


def _plain(value: Any) -> Any:
    """Times without a zone, as bounds have them."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def _out(file: _Statistics, bound: ColumnBound) -> bool:
    if bound.sign == "IS NULL":
        return file.has_null is False
    if file.has_value is False:
        return True
    if bound.sign == "IS NOT NULL":
        return False
    return not any(_may_have(file, bound.sign, value) for value in bound.values)


def _may_have(file: _Statistics, sign: str, value: Any) -> bool:
    """Whether some value of the file may stand so to a value."""
    least, most = file.least, file.most
    upward, downward = sign in (">", ">="), sign in ("<", "<=")
    if not downward and _comparable(most, value) and (most < value or (sign, most) == (">", value)):
        return False
    if upward or not _comparable(least, value):
        return True
    return bool(least < value or (least == value and sign != "<"))


def _comparable(known: Any, value: Any) -> bool:
    if not isinstance(known, _COMPARED):
        return False
    if isinstance(known, int):
        return isinstance(value, int | Decimal)
    return type(known) is type(value)
