"""Entries of a catalog as the YAML of their files, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

import yaml

from headrace.sql import statements as s
from headrace.sql.catalog.declarations import create_model_statement, create_statement
from headrace.sql.catalog.entries import (
    ColumnStatistics,
    DatabaseEntry,
    FunctionEntry,
    ModelEntry,
    PartitionEntry,
    PartitionSpec,
    TableEntry,
    TableStatistics,
)
from headrace.sql.catalog.keeping import KeptTable, Kind
from headrace.sql.catalog.materialization import Freshness, Materialization
from headrace.sql.catalog.start_mode import FROM_BEGINNING, StartMode
from headrace.sql.catalog.user_functions import loaded_function
from headrace.sql.parsing import parse_statement, parse_type_text
from headrace.util.exceptions import CatalogException

__all__ = ["Form", "database_form", "form_of"]


class _Dumper(yaml.SafeDumper):
    """Statements go over several lines; numbers with a point in them stay exact."""


class _Loader(yaml.SafeLoader):
    """Reads what `_Dumper` writes."""


_LINE_ENDS = frozenset("\r\x85\u2028\u2029")


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # Of the other characters that end lines in YAML, a reader makes line feeds.
    style = '"' if set(text) & _LINE_ENDS else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Decimal, lambda d, x: d.represent_scalar("!decimal", str(x)))
_Loader.add_constructor("!decimal", lambda loader, node: Decimal(node.value))


@dataclass(frozen=True)
class Form:
    """How objects of a kind are written."""

    fields: Callable[[str, Any], dict[str, Any]]
    """What a file says of an object, given its name."""

    object: Callable[[dict[str, Any]], Any]
    """The object of what a file says."""

    def write(self, name: str, kept: Any) -> bytes:
        """The content of a file.

        Raises:
            CatalogException: A part of the object exists in this program alone.
        """
        try:
            fields = {k: v for k, v in self.fields(name, kept).items() if v}
            text: str = yaml.dump(fields, Dumper=_Dumper, allow_unicode=True, sort_keys=False)
        except yaml.YAMLError as error:
            raise CatalogException(f"{name} cannot be kept in a file: {error}") from error
        return text.encode()

    def read(self, content: bytes) -> Any:
        """The object of a file; any error means that it is not the content of such a file."""
        return self.object(yaml.load(content, _Loader))


def form_of(kind: Kind) -> Form:
    """How objects of a kind are written."""
    return _FORMS[kind]


# Databases.


database_form = Form(
    lambda _, entry: {"options": entry.options, "comment": entry.comment},
    lambda fields: DatabaseEntry(fields.get("options", {}), fields.get("comment")),
)


# Tables and views.


def _table_fields(name: str, kept: KeptTable) -> dict[str, Any]:
    entry = kept.entry
    _check_kept(name, entry)
    fields = {
        # The files of a renamed table say its name, too; that of a file counts.
        "create": create_statement((name,), _as_written(entry), False),
        **_more_fields(entry),
        "partitions": [{"values": dict(x), **asdict(p)} for x, p in kept.partitions.items()],
        "statistics": [{"values": dict(x), **asdict(f)} for x, f in kept.sizes.items()],
        "column-statistics": [{"values": dict(x), **asdict(f)} for x, f in kept.columns.items()],
    }
    try:
        declared = _entry(fields)
    except Exception as error:
        raise CatalogException(
            f"table {name} cannot be kept in a file, as its declaration cannot be read again: "
            f"{error}"
        ) from error
    assert [c.name for c in declared.columns] == [c.name for c in entry.columns]
    return fields


def _check_kept(name: str, entry: TableEntry) -> None:
    """Refuse what only this program knows."""
    instead = None
    if entry.plan is not None:
        instead = "a view of the Table API has no text: use CREATE VIEW"
    elif entry.object is not None:
        instead = "a lookup table that is a Python object: use create_temporary_lookup_table()"
    else:
        made = [c.name for c in entry.columns if c.expression and not c.expression_is_sql]
        if made or (entry.watermark is not None and not entry.watermark.is_sql):
            what = f"column {made[0]!r}" if made else "the watermark"
            instead = f"{what} is an expression of the Table API: write it as SQL text"
    if instead is not None:
        raise CatalogException(f"table {name} cannot be kept in a file: {instead}")


def _as_written(entry: TableEntry) -> TableEntry:
    """With expressions as the user wrote them; those that are shown have names in back ticks."""
    columns = tuple(replace(c, expression_is_sql=False) for c in entry.columns)
    watermark = entry.watermark and replace(entry.watermark, is_sql=False)
    return replace(entry, columns=columns, watermark=watermark)


def _more_fields(entry: TableEntry) -> dict[str, Any]:
    """What CREATE does not say."""
    if entry.is_view:
        return {
            "comment": entry.comment,
            "namespace": list(entry.namespace or ()),
            "columns": [
                {"type": c.type.sql_text() if c.type else None, "comment": c.comment}
                for c in entry.columns
            ],
        }
    filled = entry.materialization
    if filled is None:
        return {}
    return {
        "namespace": list(filled.namespace),
        "status": filled.status,
        "job-id": filled.job_id,
        "savepoint": filled.savepoint,
    }


def _kept_table(fields: dict[str, Any]) -> KeptTable:
    return KeptTable(
        _entry(fields),
        _by_partition(fields.get("partitions", []), PartitionEntry),
        _by_partition(fields.get("statistics", []), TableStatistics),
        _by_partition(fields.get("column-statistics", []), ColumnStatistics),
    )


def _by_partition(found: list[dict[str, Any]], make: Callable[..., Any]) -> Any:
    parted: dict[PartitionSpec, Any] = {}
    for fields in found:
        values, rest = fields["values"], {k: v for k, v in fields.items() if k != "values"}
        parted[tuple(values.items())] = make(**rest)
    return parted


def _entry(fields: dict[str, Any]) -> TableEntry:
    statement = parse_statement(fields["create"])
    if isinstance(statement, s.CreateView):
        return _view(statement, fields)
    if isinstance(statement, s.CreateMaterializedTable):
        table = TableEntry.declared(statement.table)
        return replace(table, materialization=_materialization(statement, fields))
    assert isinstance(statement, s.CreateTable), "`create` must declare a table or a view"
    return TableEntry.declared(statement)


def _view(statement: s.CreateView, fields: dict[str, Any]) -> TableEntry:
    columns = []
    for name, more in zip(statement.columns, fields.get("columns", ()), strict=True):
        type_ = parse_type_text(more["type"]) if more["type"] else None
        columns.append(s.ColumnDefinition(name, type_, comment=more["comment"]))
    catalog, database = fields.get("namespace") or (None, None)
    return TableEntry(
        tuple(columns),
        comment=fields.get("comment"),
        view_text=statement.query_text,
        namespace=(catalog, database) if catalog and database else None,
    )


def _materialization(
    statement: s.CreateMaterializedTable, fields: dict[str, Any]
) -> Materialization:
    catalog, database = fields["namespace"]
    assert statement.freshness is not None
    assert statement.refresh_mode is not None
    words = statement.start_mode
    return Materialization(
        statement.query_text,
        (catalog, database),
        Freshness.of(*statement.freshness),
        statement.refresh_mode,
        FROM_BEGINNING if words is None else StartMode.of(*words),
        fields["status"],
        fields.get("job-id"),
        fields.get("savepoint"),
    )


# Functions and models.


def _function_fields(name: str, entry: FunctionEntry) -> dict[str, Any]:
    _check_found_again(name, entry)
    return {"identifier": entry.identifier, "language": entry.language, "options": entry.options}


def _check_found_again(name: str, entry: FunctionEntry) -> None:
    """Refuse a function that its identifier does not lead to."""
    if entry.function is None:
        return
    problem = None
    try:
        again = loaded_function(replace(entry, function=None))
        if type(again) is not type(entry.function) or entry.identifier.startswith("__main__."):
            problem = f"{entry.identifier} is another one in another program"
    except Exception as error:  # noqa: BLE001 - whatever a constructor raises
        problem = str(error)
    if problem is not None:
        raise CatalogException(
            f"function {name} cannot be kept in a file: {problem}. Put it into a module and use "
            f"CREATE FUNCTION {name} AS 'module.{name}' LANGUAGE PYTHON, or make it temporary"
        )


def _function(fields: dict[str, Any]) -> FunctionEntry:
    return FunctionEntry(fields["identifier"], fields["language"], fields.get("options", {}))


def _model_fields(name: str, entry: ModelEntry) -> dict[str, Any]:
    if entry.object is not None:
        raise CatalogException(
            f"model {name} cannot be kept in a file: it is a Python object. Use CREATE MODEL, or "
            "make it temporary"
        )
    return {"create": create_model_statement((name,), entry, False)}


def _model(fields: dict[str, Any]) -> ModelEntry:
    found = parse_statement(fields["create"])
    assert isinstance(found, s.CreateModel), "`create` must declare a model"
    return ModelEntry(found.inputs, found.outputs, found.options, found.comment)


_FORMS: dict[Kind, Form] = {
    "tables": Form(_table_fields, _kept_table),
    "functions": Form(_function_fields, _function),
    "models": Form(_model_fields, _model),
}
