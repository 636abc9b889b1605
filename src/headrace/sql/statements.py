"""Statements as they were read: queries keep their syntax tree, everything else is a dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.sql.parser.syntax import Node
from headrace.sql.types import DataType

Path = tuple[str, ...]
"""A name with up to three parts: catalog, database, object."""


@dataclass(frozen=True)
class Statement:
    """Base of all statements."""


@dataclass(frozen=True)
class ColumnDefinition:
    """A column: physical (`type` alone), computed (`expression`) or metadata (`metadata`).

    The text of an expression is not SQL if it was made with the Table API.
    """

    name: str
    type: DataType | None = None
    expression: Node | None = None
    expression_text: str = ""
    expression_is_sql: bool = True
    metadata: bool = False
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None
    primary_key: bool = False


@dataclass(frozen=True)
class WatermarkDefinition:
    """WATERMARK FOR column AS expression."""

    column: Path
    expression: Node
    text: str
    is_sql: bool = True


@dataclass(frozen=True)
class LikeClause:
    """LIKE table (INCLUDING ... EXCLUDING ... OVERWRITING ...)."""

    table: Path
    features: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TableDistribution:
    """DISTRIBUTED BY or INTO: how rows are divided into buckets.

    Attributes:
        keys: Names of columns.
        kind: HASH or RANGE; empty if the connector decides.
        buckets: How many there are, if that is said.
    """

    keys: Path = ()
    kind: str = ""
    buckets: int | None = None


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE TABLE."""

    path: Path
    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partitioned_by: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    distribution: TableDistribution | None = None
    like: LikeClause | None = None
    query: Any = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateMaterializedTable(Statement):
    """CREATE [OR ALTER] MATERIALIZED TABLE.

    Attributes:
        table: What CREATE TABLE has as well.
        query: The query that fills it.
        query_text: Its text.
        names: A list of columns without types, which puts those of the query into another order.
        start_mode: The words of START_MODE: its kind, and those of its interval or timestamp.
        freshness: The number and the unit of FRESHNESS, as they are written.
        refresh_mode: CONTINUOUS or FULL, if it is said.
        or_alter: Whether one that exists is changed.
    """

    table: CreateTable
    query: Any
    query_text: str
    names: tuple[str, ...] = ()
    start_mode: tuple[str, ...] | None = None
    freshness: tuple[str, str] | None = None
    refresh_mode: str | None = None
    or_alter: bool = False

    @property
    def path(self) -> Path:
        return self.table.path


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE VIEW."""

    path: Path
    query: Any
    query_text: str
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """CREATE DATABASE."""

    path: Path
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE FUNCTION ... AS 'module.name' LANGUAGE PYTHON."""

    path: Path
    identifier: str
    language: str = "PYTHON"
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateModel(Statement):
    """CREATE MODEL ... INPUT (...) OUTPUT (...) WITH (...)."""

    path: Path
    inputs: tuple[ColumnDefinition, ...] = ()
    outputs: tuple[ColumnDefinition, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """DROP TABLE, MATERIALIZED TABLE, VIEW, DATABASE, CATALOG, FUNCTION or MODEL."""

    kind: str
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class Alter(Statement):
    """ALTER TABLE, MATERIALIZED TABLE, VIEW, DATABASE, ...: what changes, and to what."""

    kind: str
    path: Path
    change: str
    value: Any = None
    if_exists: bool = False


@dataclass(frozen=True)
class Use(Statement):
    """USE [CATALOG | MODULES]."""

    kind: str
    path: Path


@dataclass(frozen=True)
class SetOption(Statement):
    """SET 'key' = 'value'; without a key all settings are shown."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetOption(Statement):
    """RESET ['key']."""

    key: str | None = None


@dataclass(frozen=True)
class Show(Statement):
    """SHOW TABLES and the like; `path` is FROM or IN, `pattern` a LIKE."""

    kind: str
    path: Path = ()
    pattern: str | None = None
    negated: bool = False
    case_insensitive: bool = False
    partition: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE a table, catalog, database, function or model."""

    kind: str
    path: Path
    extended: bool = False


@dataclass(frozen=True)
class Query(Statement):
    """SELECT, VALUES, WITH, set operations."""

    tree: Any


@dataclass(frozen=True)
class OnConflict:
    """ON CONFLICT DO `action`: NOTHING, ERROR or DEDUPLICATE; `span` is where the text has it."""

    action: str
    span: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Insert(Statement):
    """INSERT INTO or OVERWRITE a table."""

    path: Path
    query: Any
    columns: tuple[str, ...] = ()
    partition: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    hints: dict[str, str] = field(default_factory=dict)
    conflict: OnConflict | None = None


@dataclass(frozen=True)
class DeleteRows(Statement):
    """DELETE FROM a table."""

    path: Path
    condition: Node | None = None


@dataclass(frozen=True)
class UpdateRows(Statement):
    """UPDATE a table: columns and their new values."""

    path: Path
    assignments: tuple[tuple[str, Node], ...]
    condition: Node | None = None


@dataclass(frozen=True)
class TruncateTable(Statement):
    """TRUNCATE TABLE: all its rows go."""

    path: Path


@dataclass(frozen=True)
class Call(Statement):
    """CALL of a procedure: its arguments, by name or by position."""

    path: Path
    arguments: tuple[tuple[str | None, Node], ...] = ()


@dataclass(frozen=True)
class StatementSetBlock(Statement):
    """EXECUTE STATEMENT SET BEGIN ... END: several INSERTs as one job."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class BeginStatementSet(Statement):
    """BEGIN STATEMENT SET: INSERTs are kept until END; one may follow directly."""

    first: Insert | None = None


@dataclass(frozen=True)
class EndStatementSet(Statement):
    """END of a statement set."""


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [details] of a query, an INSERT or a statement set."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadModule(Statement):
    """LOAD or UNLOAD MODULE."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    unload: bool = False


@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """ANALYZE TABLE ... [PARTITION (...)] COMPUTE STATISTICS [FOR ...].

    Attributes:
        path: The table.
        partition: Partition keys with the texts of their values, or empty texts; None without.
        columns: Those of FOR COLUMNS.
        all_columns: Whether it says FOR ALL COLUMNS.
    """

    path: Path
    partition: tuple[tuple[str, str], ...] | None = None
    columns: tuple[str, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class JobStatement(Statement):
    """SHOW JOBS, STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]."""

    kind: str
    job_id: str | None = None
    with_savepoint: bool = False
    with_drain: bool = False
