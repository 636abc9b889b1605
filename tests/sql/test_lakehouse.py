"""Tables of Delta Lake and Iceberg on local files, with their own libraries beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from headrace.common.errors import GraphError, HeadraceError, JobExecutionError, SqlError
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.coordination.access.program_jobs import EarlierRun
from headrace.datastream.connectors.lakehouse import (
    DeltaLakeTable,
    IcebergTable,
    LakehouseSink,
    LakehouseSource,
    LakeTable,
)
from headrace.datastream.connectors.lakehouse.table import Batch, Changes
from headrace.datastream.connectors.staging import batch_name
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import collect, run_in_process
from tests.s3_server import BUCKET, running_s3_server
from tests.sql.sessions import LocalSession
from tests.unit.coordination.job.jobs import Job

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def delta(path: Path) -> DeltaLakeTable:
    return DeltaLakeTable(str(path / "orders"))


def iceberg(path: Path) -> IcebergTable:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{path}/catalog.db",
        "warehouse": f"file://{path}/warehouse",
    }
    return IcebergTable("shop.orders", properties)


def delta_options(path: Path) -> str:
    return f"'connector' = 'delta', 'path' = '{path}/orders'"


def iceberg_options(path: Path) -> str:
    return (
        "'connector' = 'iceberg', 'catalog-type' = 'sql', 'catalog-database' = 'shop', "
        f"'catalog-table' = 'orders', 'uri' = 'sqlite:///{path}/catalog.db', "
        f"'warehouse' = 'file://{path}/warehouse'"
    )


@pytest.fixture(params=[delta, iceberg])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LakeTable:
    make: Callable[[Path], LakeTable] = request.param
    return make(tmp_path)


@pytest.fixture(params=[delta_options, iceberg_options])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param(tmp_path))


def rows(table: LakeTable, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a table as it is, read file by file."""
    found = []
    for file in table.files().files:
        for batch in table.read(file, names or ("id", "name")):
            found += list(zip(*batch.to_pydict().values(), strict=True))
    return sorted(found)


def some(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "name": [f"n{i}" for i in ids]})


def append(table: LakeTable, number: int, *ids: int) -> None:
    data = some(*ids)
    table.create(data.schema, ())
    table.append(Batch("job", number), ds.dataset(data))


def test_a_batch_is_committed_once(table: LakeTable) -> None:
    append(table, 1, 1, 2)
    append(table, 1, 1, 2)
    append(table, 2, 3)
    assert rows(table) == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_changes_go_by_key(table: LakeTable) -> None:
    append(table, 1, 1, 2, 3)
    for _ in range(2):
        table.change(Batch("job", 2), Changes(("id",), some(4, 2), pa.table({"id": [1, 9]})))
    assert rows(table) == [(2, "n2"), (3, "n3"), (4, "n4")]


def test_small_files_are_put_together(table: LakeTable) -> None:
    for number in range(4):
        append(table, number, number)
    before = table.files()
    table.compact()
    after = table.files()
    assert (len(before.files), len(after.files)) == (4, 1)
    assert rows(table) == [(i, f"n{i}") for i in range(4)]
    assert table.files_since(before.version, skip_changes=False).files == []


def test_a_stream_of_added_rows_refuses_changes(table: LakeTable) -> None:
    append(table, 1, 1, 2)
    start = table.files().version
    append(table, 2, 3)
    (added,) = table.files_since(start, skip_changes=False).files
    assert [b.to_pydict() for b in table.read(added, ("id",))] == [{"id": [3]}]
    table.change(Batch("job", 3), Changes(("id",), some(1), pa.table({"id": [2]})))
    with pytest.raises(HeadraceError, match="changed rows; read it in batch mode"):
        table.files_since(start, skip_changes=False)
    assert table.files_since(start, skip_changes=True).files


def test_what_other_programs_add_is_read(tmp_path: Path) -> None:
    table = delta(tmp_path)
    append(table, 1, 1)
    start = table.files().version
    append(table, 2, 2)
    log = max((tmp_path / "orders" / "_delta_log").glob("*.json"))
    text = log.read_text()
    assert '"operation":"WRITE"' in text
    log.write_text(text.replace('"operation":"WRITE"', '"operation":"COPY INTO"'))
    (added,) = table.files_since(start, skip_changes=False).files
    assert [b.to_pydict() for b in table.read(added, ("id",))] == [{"id": [2]}]


def staged(sink: LakehouseSink, job: str, number: int, row: int) -> Path:
    """A row that waits."""
    directory = Path(sink.staging.ready, batch_name(number, job))
    directory.mkdir(parents=True)
    pq.write_table(some(row), directory / "part.parquet")
    return directory


def test_batches_of_a_job_that_still_runs_are_left_to_it(table: LakeTable) -> None:
    sink = LakehouseSink(table, row_type=ROW)
    batch = staged(sink, "a" * 32, 1, 7)
    committer = sink.create_global_committer("b" * 32)
    committer.commit(3, restored="b" * 32)
    assert batch.exists()
    committer.commit(3, restored="a" * 32)
    assert not batch.exists()
    assert rows(table) == [(7, "n7")]


def test_two_sinks_of_a_job_write_one_table(table: LakeTable, tmp_path: Path) -> None:
    for row in (1, 2):
        sink = LakehouseSink(table, row_type=ROW, staging_path=str(tmp_path / f"staging{row}"))
        staged(sink, "a" * 32, 1, row)
        sink.create_global_committer("a" * 32).commit(1)
    assert rows(table) == [(1, "n1"), (2, "n2")]


def test_sinks_with_and_without_a_key_do_not_mix_what_they_stage(
    table: LakeTable, tmp_path: Path
) -> None:
    """Nor do those of two tables, in one directory."""
    other = replaced(table, tmp_path)
    env = checkpointed()
    stream = env.from_collection([Row(i, f"n{i}") for i in range(4)], ROW)
    staging = str(tmp_path / "staging")
    for target, keys in ((table, ()), (table, ("id",)), (other, ("id",))):
        stream.sink_to(LakehouseSink(target, keys=keys, staging_path=staging))
    run_in_process(env)
    assert set(rows(table)) == {(i, f"n{i}") for i in range(4)}
    assert rows(other) == [(i, f"n{i}") for i in range(4)]


def replaced(table: LakeTable, path: Path) -> LakeTable:
    """Another table of the same kind."""
    if isinstance(table, IcebergTable):
        return IcebergTable("shop.others", table.catalog)
    return DeltaLakeTable(str(path / "others"))


def test_a_job_leaves_one_marker_behind(table: LakeTable) -> None:
    env = checkpointed()
    stream = env.from_collection([Row(i, f"n{i}") for i in range(100)], ROW)
    sink = LakehouseSink(table, row_type=ROW)
    stream.sink_to(sink)
    run_in_process(env, epoch_records=10, restore_after=[2, 4])
    assert len(list(Path(sink.staging.path, "done").iterdir())) == 1
    assert rows(table) == [(i, f"n{i}") for i in range(100)]


def test_a_job_without_checkpoints_that_runs_again_writes_its_rows(table: LakeTable) -> None:
    for run in (1, 2):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([Row(run, f"n{run}")], ROW)
        stream.sink_to(LakehouseSink(table))
        job = Job(env.get_job_graph("again"), run=EarlierRun("a" * 32, again=run > 1))
        job.clock.advance(60_000)
        job.finish()
    assert rows(table) == [(1, "n1"), (2, "n2")]


def test_a_key_without_a_value_is_refused(table: LakeTable) -> None:
    env = checkpointed()
    stream = env.from_collection([Row(1, "a"), Row(None, "b")], ROW)
    stream.sink_to(LakehouseSink(table, keys=("id",)))
    with pytest.raises(JobExecutionError, match="NULL in 'id', a column of the key"):
        run_in_process(env)


class _Contended(DeltaLakeTable):
    def compact(self) -> None:
        raise OSError("another writer was faster")


def test_rows_are_committed_also_if_files_cannot_be_put_together(tmp_path: Path) -> None:
    table = _Contended(str(tmp_path / "orders"))
    sink = LakehouseSink(table, row_type=ROW, compact_every=1)
    batch = staged(sink, "a" * 32, 1, 1)
    sink.create_global_committer("a" * 32).commit(1)
    assert not batch.exists()
    assert rows(table) == [(1, "n1")]


def checkpointed() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.enable_checkpointing(10)
    return env


def test_rows_are_there_once_after_failures(table: LakeTable) -> None:
    env = checkpointed()
    stream = env.from_collection(list(range(100)), Types.LONG())
    stream.map(lambda i: Row(i, f"n{i}"), ROW).sink_to(LakehouseSink(table))
    run_in_process(env, epoch_records=10, restore_after=[2, 4])
    assert rows(table) == [(i, f"n{i}") for i in range(100)]


def test_the_last_change_of_a_key_counts_after_failures(table: LakeTable) -> None:
    env = checkpointed()
    stream = env.from_collection(list(range(100)), Types.LONG())
    changes = stream.map(lambda i: Row(i % 50, f"n{i}"), ROW).key_by(lambda row: row[0])
    sink = LakehouseSink(table, keys=("id",), compact_every=3)
    changes.map(_without_small_ones, ROW).sink_to(sink)
    run_in_process(env, epoch_records=10, restore_after=[2, 4])
    assert rows(table) == [(i, f"n{i + 50}") for i in range(10, 50)]


def _without_small_ones(row: Row) -> Row:
    if row[0] < 10:
        row.set_row_kind(RowKind.DELETE)
    return row


def test_a_source_goes_on_with_what_is_added(table: LakeTable) -> None:
    append(table, 1, 1, 2)
    source = LakehouseSource(table, timedelta(milliseconds=1))
    enumerator = source.create_enumerator(1)
    assert len(enumerator.discover(0)[0]) == 1
    append(table, 2, 3)
    after = source.create_enumerator(1)
    after.restore(enumerator.snapshot())
    (split,) = after.discover(10)[0]
    assert source.rows is not None
    assert [tuple(r) for r in source.rows.read(split).take(10)] == [(3, "n3")]
    assert after.discover(20) == {}


COLUMNS = (
    "id BIGINT NOT NULL, name STRING, price DECIMAL(10, 2), at TIMESTAMP(6), "
    "day_ DATE, tags ARRAY<STRING>, f DOUBLE, ok BOOLEAN"
)
VALUES = (
    "(1, 'a', 1.50, TIMESTAMP '2024-01-02 03:04:05.123456', DATE '2024-01-02', ARRAY['x'], "
    "0.5, TRUE), (2, CAST(NULL AS STRING), CAST(NULL AS DECIMAL(10, 2)), "
    "CAST(NULL AS TIMESTAMP(6)), CAST(NULL AS DATE), CAST(NULL AS ARRAY<STRING>), "
    "CAST(NULL AS DOUBLE), FALSE)"
)


def test_values_of_sql_come_back(options: str) -> None:
    session = LocalSession(batch=True)
    session.execute(f"CREATE TABLE t ({COLUMNS}) WITH ({options})")
    session.insert(f"INSERT INTO t VALUES {VALUES}")
    written = session.query(f"SELECT * FROM (VALUES {VALUES}) AS v")
    read = session.query("SELECT * FROM t")
    assert sorted(r for _, r in read.rows) == sorted(r for _, r in written.rows)
    session.insert(f"INSERT INTO t VALUES {VALUES}")
    assert len(session.query("SELECT id FROM t").rows) == 4


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_changing_query_keeps_a_table_up_to_date(options: str, parallelism: int) -> None:
    session = LocalSession(parallelism=parallelism)
    session.execute(
        "CREATE TABLE counts (name STRING NOT NULL, n BIGINT, p INT, "
        "PRIMARY KEY (name, p) NOT ENFORCED) "
        f"PARTITIONED BY (p) WITH ({options})"
    )
    query = (
        "SELECT name, COUNT(*), p FROM (VALUES ('a', 1), ('b', 1), ('a', 1), ('c', 2)) "
        "AS v(name, p) GROUP BY name, p"
    )
    session.insert(f"INSERT INTO counts {query}")
    more = "INSERT INTO counts VALUES ('b', 10, 1), ('d', 1, 2)"
    session.insert(f"{more} ON CONFLICT DO DEDUPLICATE")
    result = session.query("SELECT name, n, p FROM counts WHERE p < 3")
    assert sorted(r for _, r in result.rows) == [
        ("a", 2, 1),
        ("b", 10, 1),
        ("c", 1, 2),
        ("d", 1, 2),
    ]


def test_rows_are_looked_up(options: str) -> None:
    session = LocalSession()
    session.execute(f"CREATE TABLE t (id BIGINT, name STRING) WITH ({options})")
    session.insert("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.execute("CREATE TEMPORARY VIEW v AS SELECT id, PROCTIME() AS p FROM (VALUES (2)) x(id)")
    result = session.query(
        "SELECT v.id, t.name FROM v JOIN t FOR SYSTEM_TIME AS OF v.p ON t.id = v.id"
    )
    assert [r for _, r in result.rows] == [(2, "b")]


def test_what_does_not_fit_is_refused(options: str, tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(f"CREATE TABLE t (id BIGINT, name STRING) WITH ({options})")
    with pytest.raises(SqlError, match="is not there; insert into it first"):
        session.query("SELECT * FROM t")
    with pytest.raises(SqlError, match="without a primary key can only be added"):
        session.insert(
            "INSERT INTO t SELECT id, MAX(name) FROM (VALUES (1, 'a')) v(id, name) GROUP BY id"
        )
    session.insert("INSERT INTO t VALUES (1, 'a')")
    session.execute(f"CREATE TABLE other (id BIGINT, title STRING) WITH ({options})")
    with pytest.raises(SqlError, match="declares title, which"):
        session.query("SELECT * FROM other")
    with pytest.raises(SqlError, match="the table has"):
        session.insert("INSERT INTO other VALUES (1, 'a')")
    session.execute(f"CREATE TABLE typed (id STRING, name STRING) WITH ({options})")
    with pytest.raises(SqlError, match="column 'id' of the rows is string"):
        session.insert("INSERT INTO typed VALUES ('1', 'a')")


def test_what_comes_later_needs_somebody_who_looks(options: str) -> None:
    session = LocalSession()
    mode = "'scan.startup.mode' = 'latest'"
    session.execute(f"CREATE TABLE t (id BIGINT) WITH ({options}, {mode})")
    session.insert("INSERT INTO t VALUES (1)")
    with pytest.raises(SqlError, match=r"table .*t needs 'source\.monitor-interval'"):
        session.query("SELECT * FROM t")


@pytest.mark.server
def test_tables_of_an_object_store_are_kept_up_to_date(tmp_path: Path) -> None:
    with running_s3_server() as server:
        access = {"s3.endpoint": server.endpoint, "s3.region": "eu-west-1"}
        keys = {"s3.access-key-id": "test", "s3.secret-access-key": "test"}
        catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", **access, **keys}
        tables = [
            DeltaLakeTable(
                f"s3://{BUCKET}/orders",
                {
                    "AWS_ENDPOINT_URL": server.endpoint,
                    "AWS_REGION": "eu-west-1",
                    "AWS_ACCESS_KEY_ID": "test",
                    "AWS_SECRET_ACCESS_KEY": "test",
                    "AWS_ALLOW_HTTP": "true",
                    "AWS_CONDITIONAL_PUT": "etag",
                },
            ),
            IcebergTable("shop.orders", {**catalog, "warehouse": f"s3://{BUCKET}/warehouse"}),
        ]
        for number, table in enumerate(tables):
            env = checkpointed()
            stream = env.from_collection(list(range(20)), Types.LONG())
            changes = stream.map(lambda i: Row(i % 10, f"n{i}"), ROW).key_by(lambda row: row[0])
            staging = str(tmp_path / f"staging{number}")
            sink = LakehouseSink(table, keys=("id",), staging_path=staging)
            changes.map(lambda row: row, ROW).sink_to(sink)
            run_in_process(env, epoch_records=4, restore_after=[2])
            assert rows(table) == [(i, f"n{i + 10}") for i in range(10)]
            source = LakehouseSource(table)
            stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
            assert sorted(tuple(r) for r in collect(stream)) == rows(table)


def test_a_table_elsewhere_needs_a_place_for_rows_that_wait() -> None:
    with pytest.raises(GraphError, match="give staging_path"):
        LakehouseSink(DeltaLakeTable("s3://bucket/orders"), row_type=ROW)
    with pytest.raises(GraphError, match=r"'database\.table'"):
        IcebergTable("orders", {})


@pytest.mark.parametrize(
    ("declared", "opened"), [(delta_options, delta), (iceberg_options, iceberg)]
)
def test_a_procedure_puts_small_files_together(
    declared: Callable[[Path], str], opened: Callable[[Path], LakeTable], tmp_path: Path
) -> None:
    session = LocalSession(batch=True)
    session.execute(f"CREATE TABLE orders (id BIGINT, name STRING) WITH ({declared(tmp_path)})")
    for number in range(3):
        session.insert(f"INSERT INTO orders VALUES ({number}, 'x')")
    table = opened(tmp_path)
    assert len(table.files().files) == 3
    found = session.executor.execute("CALL sys.compact(`table` => 'orders')").rows()
    assert [tuple(row) for _, row in found] == [("Success",)]
    assert len(table.files().files) == 1
    assert len(session.query("SELECT * FROM orders").rows) == 3


_LONG = "x" * 200
_PRUNED: list[tuple[str, Any]] = [
    ("day = DATE '2024-01-02'", 1),
    ("day >= DATE '2024-01-02' AND day <= DATE '2024-01-03'", 2),
    ("id > 29", 1),
    ("id IN (3, 33)", 2),
    ("25 <= id", 2),
    ("amount < 0.95", {DeltaLakeTable: 4, IcebergTable: 1}),
    ("amount < 0.955", 4),
    ("name = 'n15'", 2),
    (f"name >= '{_LONG}'", 1),
    ("`at` < TIMESTAMP '2024-01-01 00:00:09'", 1),
    ("`at` <= TIMESTAMP '2024-01-01 00:00:09.9996'", 2),
    ("moment > CAST(TIMESTAMP '2024-01-01 00:00:29.9999' AS TIMESTAMP_LTZ(6))", 2),
    ("name IS NULL", 1),
    ("CAST(id AS BIGINT) = 50", 0),
    ("id = 7 OR id = 8", 4),
    ("UPPER(name) = 'N7'", 4),
    ("ratio > 2", 4),
]


def _days(table: LakeTable) -> None:
    """Four files, each of one day, with ten rows that go up."""
    columns = pa.schema(
        [
            ("id", pa.int32()),
            ("name", pa.string()),
            ("amount", pa.decimal128(8, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us")),
            ("moment", pa.timestamp("us", "UTC")),
            ("ratio", pa.float64()),
        ]
    )
    table.create(columns, ["day"])
    begin = datetime(2024, 1, 1)
    for number in range(4):
        ids = range(number * 10, number * 10 + 10)
        # The last time of each has more digits than a table may keep in its log.
        times = [begin + timedelta(seconds=i, microseconds=999_700 * (i % 10 == 9)) for i in ids]
        names = [None if i == 0 else _LONG + "y" if i == 39 else f"n{i}" for i in ids]
        rows = {
            "id": list(ids),
            "name": names,
            "amount": [Decimal(i) / 10 for i in ids],
            "day": [date(2024, 1, number + 1)] * 10,
            "at": times,
            "moment": [time.replace(tzinfo=UTC) for time in times],
            "ratio": [float("nan") if i == 1 else float(i) for i in ids],
        }
        table.append(Batch("w", number), ds.dataset(pa.Table.from_pydict(rows, columns)))


def test_files_without_rows_that_a_query_needs_are_not_read(
    table: LakeTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = delta_options if isinstance(table, DeltaLakeTable) else iceberg_options
    _days(table)
    session = LocalSession(batch=True, parallelism=2)
    session.execute(
        "CREATE TABLE orders (id INT, name STRING, amount DECIMAL(8, 2), `day` DATE, "
        f"`at` TIMESTAMP(6), moment TIMESTAMP_LTZ(6), ratio DOUBLE) WITH ({make(tmp_path)})"
    )
    read: list[str] = []
    original = type(table).read

    def noting(self: Any, file: Any, names: Sequence[str]) -> Any:
        assert set(names) < {"id", "name", "amount", "day", "at", "moment", "ratio"}
        read.append(file.name)
        return original(self, file, names)

    monkeypatch.setattr(type(table), "read", noting)
    for condition, files in _PRUNED:
        read.clear()
        found = session.query(f"SELECT id FROM orders WHERE {condition}").rows
        expected_files = files[type(table)] if isinstance(files, dict) else files
        assert len(read) == expected_files, condition
        session.execute(_WITHOUT)
        expected = session.query(f"SELECT id FROM orders WHERE {condition}").rows
        session.execute(_WITHOUT.replace("false", "true"))
        assert sorted(found) == sorted(expected), condition
    plan = session.explain("EXPLAIN SELECT COUNT(*) FROM orders WHERE id > 3 AND ratio > 1")
    assert "filter=[(id > 3)], project=[id, ratio]" in plan
    assert all(file.size for file in table.files().files)


_WITHOUT = "SET 'table.optimizer.source.predicate-pushdown-enabled' = 'false'"


@pytest.mark.spark
def test_tasks_of_spark_read_files(table: LakeTable, tmp_path: Path) -> None:
    make = delta_options if isinstance(table, DeltaLakeTable) else iceberg_options
    _days(table)
    session = LocalSession(batch=True, parallelism=2)
    session.execute(
        "CREATE TABLE orders (id INT, name STRING, amount DECIMAL(8, 2), `day` DATE, "
        f"`at` TIMESTAMP(6)) WITH ({make(tmp_path)})"
    )
    query = (
        "SELECT a.`day`, COUNT(*), SUM(a.amount), MAX(b.`at`) FROM orders AS a JOIN orders AS b "
        "ON a.id = b.id WHERE a.id > 12 GROUP BY a.`day`"
    )
    found = session.query_on_spark(query)
    assert found is not None, "a part of it is not in Spark"
    assert len(found.rows) == 3
    assert sorted(found.rows) == sorted(session.query(query).rows)
