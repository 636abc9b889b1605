"""Sessions for tests: statements run in this process, without Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from headrace.common.types import RowKind
from headrace.datastream.connectors.spark_query import Relation
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import statements as s
from headrace.sql.catalog.entries import TableEntry
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.nodes import SparkRows
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema
from headrace.sql.rules import optimize
from headrace.sql.segments.columns import RowsOfColumns
from headrace.sql.session.result import changed_rows
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.sql.session.tableau import Tableau
from headrace.sql.translation.spark import query_of
from headrace.sql.types.arrow import arrow_type_of
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table import Table
from headrace.table.table_environment import StreamTableEnvironment, new_session
from headrace.testing import run_in_process

HERE = Path(__file__).parent

_FILE = (
    "'connector' = 'filesystem', 'path' = '{data}/{table}.csv', 'format' = 'csv', "
    "'csv.null-literal' = 'null'"
)


ONCE = {
    "shuffle.partitions": "1",
    "session.timeZone": "UTC",
    "adaptive.enabled": "false",
    "codegen.wholeStage": "false",
    "codegen.factoryMode": "NO_CODEGEN",
}
"""For what Spark is to compute once: code for a few rows takes longer to compile than they do."""


@dataclass
class Result:
    """What a query gave: columns, and rows with their kinds in internal form."""

    schema: Schema
    rows: list[tuple[int, Sequence[Any]]]
    batch: bool
    zone: str = "UTC"

    def tableau(self) -> list[str]:
        lines: list[str] = []
        table = Tableau(self.schema, self.zone, kinds=not self.batch)
        table.print(iter(self.rows), lines.append)
        return lines

    def materialized(self) -> list[Any]:
        """The rows that are left after all changes."""
        left: list[Any] = []
        for kind, row in self.rows:
            if kind & 1:
                left.remove(tuple(row))
            else:
                left.append(tuple(row))
        return left


class LocalSession:
    """Runs statements one after the other."""

    def __init__(
        self, batch: bool = False, parallelism: int = 1, options: Mapping[str, str] | None = None
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        settings = EnvironmentSettings.in_streaming_mode()
        if batch:
            settings = EnvironmentSettings.in_batch_mode()
        self.session = new_session(env, settings)
        if batch:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        # What Spark's JVM would run needs Spark.
        always = {"table.local-time-zone": "UTC", "table.exec.spark-segments": "false"}
        for key, value in {**always, **(options or {})}.items():
            self.session.config.set(key, value)
        self.executor = StatementExecutor(self.session)
        self.env = env

    def execute(self, text: str) -> None:
        """A statement without a job."""
        self.executor.execute(text)

    def plan(self, text: str) -> n.Node:
        statement = parse_statement(text)
        assert isinstance(statement, s.Query)
        every_change = self.session.settings().every_change
        return optimize(self.session.query_plan(statement.tree, text), every_change=every_change)

    def query(self, text: str, **settings: Any) -> Result:
        """A query in this process; settings are those of `run_in_process`."""
        plan = self.plan(text)
        self.session.check(plan)
        translator = self.session.translator()
        try:
            stream = translator.stream(plan)
            records = run_in_process(self.env, {"rows": stream}, **settings)["rows"]
        finally:
            self.env._transformations = []
        rows = list(changed_rows(iter(records), translator.takes_changes(plan)))
        zone = self.session.config.get_local_timezone()
        return Result(plan.schema, rows, self.session.batch, zone)

    def explain(self, text: str) -> str:
        """What an EXPLAIN shows."""
        return self.executor.execute(text).plain or ""

    def query_on_spark(self, text: str) -> Result | None:
        """A query of batch mode as one of Spark's; None if Spark runs only parts of it."""
        plan = self.plan(text)
        settings = replace(self.session.settings(), spark_segments=True)
        (node,) = physical_plans([plan], settings)
        if not isinstance(node, SparkRows) or not isinstance(node.segment.scan, Relation):
            return None
        from headrace.spark.relation_feed import relation_frame

        frame = relation_frame(query_of(node.segment), node.segment.scan.cut(1))
        decode = RowsOfColumns(len(node.schema), node.segment.columns)
        rows = [row for batch in frame.toArrow().to_batches() for row in decode(batch)]
        zone = self.session.config.get_local_timezone()
        return Result(plan.schema, [(0, row) for row in rows], True, zone)

    def insert(self, *texts: str, **settings: Any) -> list[str]:
        """INSERTs of one job in this process, to its end; the lines that sinks have printed."""
        plans = []
        for text in texts:
            statement = parse_statement(text)
            assert isinstance(statement, s.Insert)
            plans.append(self.session.insert_plan(statement, text))
        try:
            self.session.translator().translate(*plans)
            return run_in_process(self.env, **settings).printed
        finally:
            self.env._transformations = []


def with_tables(
    batch: bool = False, parallelism: int = 1, options: Mapping[str, str] | None = None
) -> LocalSession:
    """A session with the tables of the golden statements."""
    session = LocalSession(batch, parallelism, options)
    for name, entry in _declared(batch, tuple((options or {}).items())).items():
        session.session.catalogs.create_table((name,), entry)
    return session


@cache
def _declared(batch: bool, options: tuple[tuple[str, str], ...]) -> dict[str, TableEntry]:
    """What the statements of `setup.sql` declare: running them takes longer than most tests."""
    session = LocalSession(batch, options=dict(options))
    for statement in setup_statements():
        session.execute(statement.replace("{data}", str(HERE / "data")))
    catalogs = session.session.catalogs
    entries = {name: catalogs.find_table((name,)) for name in catalogs.list_tables()}
    return {name: entry for name, entry in entries.items() if entry is not None}


def setup_statements(lookups: str = _FILE) -> list[str]:
    """What makes the tables of the golden statements, with the options of those to look up."""
    text = (HERE / "cases" / "setup.sql").read_text(encoding="utf-8")
    for table in ("stock", "places"):
        text = text.replace(f"({{{table}}})", f"({lookups.replace('{table}', table)})")
    return statements(text)


def statements(text: str) -> list[str]:
    """Statements of a file; comments are lines that begin with two dashes."""
    lines = [x for x in text.splitlines() if not x.startswith("--")]
    return [x.strip() for x in re.split(r";\s*\n", "\n".join(lines) + "\n") if x.strip()]


def case_files() -> list[str]:
    """Names of the files with golden statements."""
    return sorted(p.stem for p in (HERE / "cases").glob("*.sql") if p.stem != "setup")


def case_options(name: str) -> dict[str, str]:
    """Options of a file of statements: comments `-- key: value`."""
    text = (HERE / "cases" / f"{name}.sql").read_text(encoding="utf-8")
    return dict(re.findall(r"^-- ([a-z.-]+): (\S+)$", text, re.MULTILINE))


def golden(name: str, mode: str) -> dict[str, Any]:
    """What Flink gave for the statements of a file."""
    path = HERE / "golden" / f"{name}.{mode}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def rows_of(t_env: StreamTableEnvironment, table: Table) -> list[Any]:
    """The rows that are left after all changes, as lists."""
    env = t_env._session.env
    stream = t_env.to_changelog_stream(table)
    left: list[Any] = []
    for row in run_in_process(env, {"rows": stream})["rows"]:
        if row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            left.remove(list(row))
        else:
            left.append(list(row))
    return sorted(left, key=str)


def place_of(error: BaseException) -> str:
    """The piece of the statement that an error underlines."""
    *_, shown, mark = str(error).splitlines()
    return shown[mark.index("^") : mark.rindex("^") + 1]


_AN_INPUT = re.compile(r"\.(csv|json)', 'format' = '(csv|json)'")


def in_parquet(folder: Path, settings: Mapping[str, str] | None = None) -> LocalSession:
    """A session of batch mode with the tables of the golden statements as Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    read = with_tables(batch=True)
    made = LocalSession(batch=True, parallelism=2, options=settings)
    for statement in setup_statements():
        declared, _, options = statement.rpartition("WITH (")
        # Sinks, and tables of changes, which batch mode cannot read, stay as they are.
        if statement.startswith("CREATE TABLE") and _AN_INPUT.search(options):
            name = declared.split()[2]
            path = folder / f"{name}.parquet"
            options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet'"
            statement = f"{declared} WITH ({options})"
            if not path.exists():
                node = read.plan(f"SELECT * FROM {name}")
                while node.inputs:
                    (node,) = node.inputs
                rows = read.query(f"SELECT {', '.join(node.schema.names)} FROM {name}").rows
                columns = zip(*(row for _, row in rows), strict=True)
                arrays = [
                    pa.array(values, arrow_type_of(f.type))
                    for values, f in zip(columns, node.schema, strict=True)
                ]
                pq.write_table(pa.table(arrays, node.schema.names), path)
        made.execute(statement)
    return made
