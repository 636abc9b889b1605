"""`Row`, a record with positions or names, and `RowKind`, its meaning in a changelog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, SupportsIndex, overload

__all__ = ["Row", "RowKind", "field_names_of", "make_rows", "row_of", "values_of"]


class RowKind(Enum):
    """What a row says in a changelog."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    # Members are singletons, so the identity hash is right; Enum's own hashes the name in Python.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        """The short form that logs and `print()` show: +I, -U, +U or -D."""
        return _SHORT_FORM[self]


_SHORT_FORM = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}
_KIND_BY_VALUE = tuple(RowKind)
_INSERT = RowKind.INSERT


class _NoSuchField(KeyError, ValueError):
    # PyFlink raises ValueError for an unknown name; a KeyError is what Python users look for.
    def __str__(self) -> str:
        return str(self.args[0])


def _restore_row(values: list[Any], fields: list[str] | None = None, kind: int = 0) -> Row:
    return row_of(values, fields, _KIND_BY_VALUE[kind])


def row_of(
    values: list[Any], field_names: list[str] | None = None, row_kind: RowKind = _INSERT
) -> Row:
    """Makes a row around lists that are kept, not copied. For the runtime, where it counts."""
    row = Row.__new__(Row)
    row._values = values
    row._fields = field_names
    row._row_kind = row_kind
    return row


@lru_cache(maxsize=1024)
def _name_order(fields: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(fields)), key=fields.__getitem__))


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_as_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_plain(item) for key, item in value.items()}
    return value


class Row:
    """A record whose fields have positions and, optionally, names.

    Positional values make a row without names, keyword arguments one with names, in the order
    given. Fields are read and written by position (`row[0]`) or name (`row["age"]`), and read as
    attributes (`row.age`). A row of names is also a template: calling it makes rows with these
    names.

    A row carries a `RowKind`, INSERT unless set. Rows compare by kind and values; rows with names
    compare by name, so the order of their fields does not matter.

    Example:
        >>> Row(name="Ada", age=36)
        Row(name='Ada', age=36)
        >>> Person = Row("name", "age")
        >>> Person("Ada", 36).age
        36
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: list[str] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        """Creates a row from positional values or from named ones, not from both."""
        if kwargs:
            if args:
                raise ValueError(
                    "Can not use both args and kwargs to create Row: there are "
                    f"{len(args)} values without a name, and {sorted(kwargs)}"
                )
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Creates a row like `Row(...)` with the given kind."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields as a dict from name to value.

        Args:
            recursive: Turn rows inside this one, also in lists and dicts, into dicts too.

        Raises:
            TypeError: The row has no field names.
        """
        if self._fields is None:
            raise TypeError(
                "Cannot convert a Row class into dict without field names: create it with "
                "names, as in Row(name='Ada'), or call set_field_names first"
            )
        values = map(_as_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """The kind of change that the row stands for."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Sets the kind of change that the row stands for."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Gives the fields names. The list is kept, not copied, so rows can share it."""
        self._fields = field_names

    def get_field_names(self) -> list[str] | None:
        """The names of the fields, or None if they have none."""
        return self._fields

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """The values of the named fields, in this order; all values if the row has no names."""
        fields = self._fields
        if fields is None or names == fields:
            return self._values
        missing = set(names).difference(fields)
        if missing:
            raise _NoSuchField(f"Field names {list(missing)} not exist in {fields}.")
        return [self._values[self._index_of(name)] for name in names]

    def _index_of(self, name: Any) -> int:
        if self._fields is None:
            raise _NoSuchField(f"this Row has no field names, so there is no field {name!r}")
        try:
            return self._fields.index(name)
        except ValueError:
            raise _NoSuchField(f"no field {name!r}; the fields are {self._fields}") from None

    def __call__(self, *args: Any) -> Row:
        """Makes a row that has this row's values as its field names."""
        if len(args) > len(self._values):
            raise ValueError(
                f"Can not create Row with fields {self}, expected {len(self)} values but got {args}"
            )
        return row_of(list(args), self._values, self._row_kind)

    def __copy__(self) -> Row:
        """A row with fields of its own."""
        return row_of(list(self._values), self._fields, self._row_kind)

    def __contains__(self, item: object) -> bool:
        """Whether there is a field of this name; without names, whether there is such a value."""
        return item in (self._values if self._fields is None else self._fields)

    @overload
    def __getitem__(self, item: int | str) -> Any: ...
    @overload
    def __getitem__(self, item: slice) -> list[Any]: ...
    def __getitem__(self, item: int | str | slice) -> Any:
        """The value at a position, the values of a slice, or the value of a named field."""
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index_of(item)]

    def __setitem__(self, key: int | str | slice, value: Any) -> None:
        """Replaces the value at a position, in a slice, or of a named field."""
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._index_of(key)] = value

    def __getattr__(self, item: str) -> Any:
        """The value of a named field; `row[name]` also reaches names that start with `_`."""
        if item.startswith("_") or self._fields is None:
            raise AttributeError(f"this Row has no field {item!r}")
        try:
            return self._values[self._fields.index(item)]
        except (ValueError, IndexError):
            raise AttributeError(f"no field {item!r}; the fields are {self._fields}") from None

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickles values, names and kind; a list of names that rows share is written once."""
        if self._row_kind is not _INSERT:
            return _restore_row, (self._values, self._fields, self._row_kind.value)
        if self._fields is None:
            return Row, tuple(self._values)
        return _restore_row, (self._values, self._fields)

    def __eq__(self, other: object) -> bool:
        """Equal kinds and values, field by field; a row with names never equals one without."""
        if not isinstance(other, Row):
            return False
        if self._row_kind is not other._row_kind:
            return False
        mine, theirs = self._fields, other._fields
        if mine == theirs:
            return self._values == other._values
        if mine is None or theirs is None or sorted(mine) != sorted(theirs):
            return False
        return _by_name(self) == _by_name(other)

    def __hash__(self) -> int:
        """The hash of the values; of a row with names, in the order of the names."""
        if self._fields is None:
            return hash(tuple(self._values))
        return hash(tuple(_by_name(self)))

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the values."""
        return iter(self._values)

    def __len__(self) -> int:
        """The number of fields."""
        return len(self._values)

    def __repr__(self) -> str:
        """`Row(name='Ada')` with names, `<Row('Ada')>` without."""
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def make_rows(
    all_values: Iterable[list[Any]],
    field_names: list[str] | None = None,
    row_kind: RowKind = _INSERT,
) -> list[Row]:
    """Many rows as `row_of` makes them, without a call for each."""
    rows: list[Row] = []
    new, add = Row.__new__, rows.append
    for values in all_values:
        row = new(Row)
        row._values = values
        row._fields = field_names
        row._row_kind = row_kind
        add(row)
    return rows


def _by_name(row: Row) -> list[Any]:
    fields: Sequence[str] = row._fields or ()
    values = row._values
    return [values[i] for i in _name_order(tuple(fields)) if i < len(values)]


values_of: Callable[[Row], list[Any]] = attrgetter("_values")
"""The list of a row's values, not a copy. For loops over whole columns of rows."""

field_names_of: Callable[[Row], list[str] | None] = attrgetter("_fields")
"""The list of a row's field names, or None. For loops over whole columns of rows."""
