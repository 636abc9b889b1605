"""Reading statements: what they mean, and where they are wrong."""

from __future__ import annotations

import pytest

from headrace.common import Configuration
from headrace.common.errors import ConfigurationError, SqlError
from headrace.common.job_client import JobClient
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement, parse_statements
from headrace.sql.plan import nodes as n
from headrace.sql.types import TimestampType
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.sql.sessions import LocalSession, with_tables


def test_a_table_has_all_kinds_of_columns() -> None:
    table = parse_statement(
        "CREATE TABLE IF NOT EXISTS c.d.t (a INT NOT NULL COMMENT 'key', b AS a + 1, "
        "ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED) "
        "COMMENT 'x' PARTITIONED BY (a) WITH ('connector' = 'datagen', 'k' = 'it''s')"
    )
    assert isinstance(table, s.CreateTable)
    assert table.path == ("c", "d", "t")
    assert [c.name for c in table.columns] == ["a", "b", "ts"]
    assert table.columns[0].comment == "key"
    assert table.columns[1].expression_text == "a + 1"
    assert table.columns[2].metadata_key == "timestamp"
    assert table.columns[2].type == TimestampType(3)
    assert table.columns[2].virtual
    assert table.watermark is not None
    assert table.watermark.text == "ts - INTERVAL '5' SECOND"
    assert table.primary_key == table.partitioned_by == ("a",)
    assert table.options == {"connector": "datagen", "k": "it's"}
    assert table.if_not_exists


def test_a_script_has_several_statements_and_a_statement_set_is_one() -> None:
    found = parse_statements(
        "SET 'a' = 'b'; EXECUTE STATEMENT SET BEGIN INSERT INTO x SELECT 1; "
        "INSERT INTO y SELECT 2; END; -- the end\nSHOW TABLES LIKE '%x';"
    )
    assert [type(f) for f in found] == [s.SetOption, s.StatementSetBlock, s.Show]
    assert isinstance(found[1], s.StatementSetBlock)
    assert [i.path for i in found[1].inserts] == [("x",), ("y",)]


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("selec 1", "Expecting a statement", (1, 1)),
        ("CREATE TABLE t (a INTT)", "INTT is not a type", (1, 19)),
        ("INSERT t SELECT 1", "Expecting INTO", (1, 8)),
        ("SELECT\n  foo FROM (VALUES (1)) AS t(fob)", "did you mean 'fob'?", (2, 3)),
        ("SELECT uper('a')", "did you mean UPPER?", (1, 8)),
        ("SELECT 'a' + 1", "Cannot apply 'PLUS'", (1, 8)),
        ("SELECT id, FROM orders", "Expecting something after the comma", (1, 10)),
        ("SELECT * FROM ordrs", "did you mean 'orders'?", (1, 15)),
        ("SELECT a FROM (VALUES (1, 2)) AS t(a, b) GROUP BY b", "not being grouped", (1, 8)),
        ("SELECT a FROM (VALUES (1)) AS t(a) WHERE a", "must be a condition", (1, 42)),
        (
            "SELECT LEAD(a) OVER (ORDER BY a) FROM (VALUES (1)) AS t(a)",
            "LEAD Function is not supported in stream mode",
            (1, 8),
        ),
        ("SELECT SUM(a) OVER w FROM (VALUES (1)) AS t(a)", "Window 'w' not found", None),
    ],
)
def test_errors_show_the_place_and_the_nearest_name(
    text: str, message: str, position: tuple[int, int] | None
) -> None:
    session = LocalSession()
    session.execute("CREATE TABLE orders (id INT) WITH ('connector' = 'datagen')")
    with pytest.raises(SqlError) as error:
        session.query(text)
    assert message in str(error.value)
    if position is not None:
        assert error.value.position == position
        assert "^" in str(error.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t (a INT) WITH ('connector' = 'printt')", "did you mean 'print'"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'rows' = '1')", "Unsupported opt"),
        ("CREATE TABLE t (a INT)", "'connector'"),
    ],
)
def test_options_are_checked_when_a_table_is_used(statement: str, message: str) -> None:
    session = LocalSession()
    session.execute(statement)
    with pytest.raises(SqlError, match=message):
        session.query("SELECT * FROM t")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t (a INT, a INT) WITH ()", "already exists"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ()", "not defined"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a)) WITH ()", "NOT ENFORCED"),
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a) WITH ()", "Invalid data type of time"),
        ("DROP TABLE nothing", "does not exist"),
        ("USE CATALOG nothing", "does not exist"),
    ],
)
def test_declarations_that_cannot_be(statement: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        LocalSession().execute(statement)


def test_a_sink_that_takes_no_updates_is_refused_with_the_reason() -> None:
    session = LocalSession()
    session.execute("CREATE TABLE src (a INT) WITH ('connector' = 'datagen')")
    session.execute(
        "CREATE TABLE f (a INT, n BIGINT) "
        "WITH ('connector' = 'filesystem', 'path' = '/tmp/none', 'format' = 'csv')"
    )
    with pytest.raises(SqlError, match="doesn't support consuming update changes"):
        session.execute("INSERT INTO f SELECT a, COUNT(*) FROM src GROUP BY a")


def test_the_state_of_an_aggregate_has_a_hint_for_how_long_it_is_kept() -> None:
    session = LocalSession()
    session.execute("CREATE TABLE src (a INT) WITH ('connector' = 'datagen')")
    query = "SELECT /*+ STATE_TTL('{}' = '{}') */ a, COUNT(*) FROM src AS s GROUP BY a"
    for name in ("src", "s"):
        plan = session.plan(query.format(name, "1 h"))
        assert isinstance(plan, n.Project)
        assert isinstance(plan.input, n.Aggregate)
        assert plan.input.state_ttl_ms == 3_600_000
    with pytest.raises(SqlError, match=r"(?s)cannot match .*other"):
        session.plan(query.format("other", "1 h"))
    with pytest.raises(SqlError, match="soon"):
        session.plan(query.format("s", "soon"))


def test_options_are_for_tables_and_not_for_views() -> None:
    session = with_tables()
    with pytest.raises(SqlError, match=r"View '`default_catalog`.`default_database`.`cheap`' ca"):
        session.plan("SELECT * FROM cheap /*+ OPTIONS('path' = 'x') */")


def test_a_query_sees_the_watermark_and_the_database() -> None:
    session = with_tables()
    # A row for each epoch: the watermark is that of the rows before.
    query = "SELECT id, CURRENT_WATERMARK(et) < et, CURRENT_DATABASE() FROM orders WHERE id < 3"
    rows = [row for _, row in session.query(query, epoch_records=1).rows]
    assert rows == [(1, None, "default_database"), (2, True, "default_database")]
    with pytest.raises(SqlError, match="single rowtime attribute"):
        session.query("SELECT CURRENT_WATERMARK(id) FROM orders")


@pytest.mark.parametrize(
    ("statement", "message", "position"),
    [
        ("EXPLAIN INSERT INTO snk SELECT 1", "did you mean 'sink'?", (1, 21)),
        ("EXPLAIN INSERT INTO sink (a, c)\nSELECT 1, 2", "Unknown target column 'c'", (1, 30)),
        ("EXPLAIN INSERT INTO sink SELECT 'x'", "do not match", (1, 21)),
        ("DROP TABLE\n  snk", "does not exist, did you mean 'sink'?", (2, 3)),
        ("DESCRIBE snk", "did you mean 'sink'?", (1, 10)),
        ("USE CATALOG nowhere", "[nowhere] does not exist", (1, 13)),
        ("ALTER TABLE sink DROP zz", "the column `zz` doesn't exist", (1, 23)),
        ("CREATE TABLE x (a INT, WATERMARK FOR b AS b) WITH ('k' = 'v')", "'b' is not", (1, 38)),
        ("SELECT 'abc", "this does not end", (1, 8)),
        ("SELECT 1 /* abc", "this does not end", (1, 10)),
    ],
)
def test_errors_of_all_statements_show_the_place(
    statement: str, message: str, position: tuple[int, int]
) -> None:
    session = LocalSession()
    session.execute("CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(SqlError) as error:
        session.execute(statement)
    assert message in str(error.value)
    assert error.value.position == position
    assert "^" in str(error.value)


def test_reset_brings_back_what_the_session_began_with() -> None:
    given = Configuration().set_string("parallelism.default", "3")
    settings = EnvironmentSettings.new_instance().with_configuration(given).build()
    t_env = TableEnvironment.create(settings)

    def get(key: str) -> str:
        return t_env.get_config().get(key, "none")

    t_env.execute_sql("SET 'parallelism.default' = '1'")
    t_env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    t_env.execute_sql("SET 'execution.runtime-mode' = 'batch'")
    assert t_env._session.batch
    t_env.execute_sql("RESET 'execution.runtime-mode'")
    assert not t_env._session.batch
    assert get("parallelism.default") == "1"
    t_env.execute_sql("RESET")
    assert (get("parallelism.default"), get("table.exec.state.ttl")) == ("3", "none")
    with pytest.raises(SqlError, match="is streaming or batch, not 'fast'"):
        t_env.execute_sql("SET 'execution.runtime-mode' = 'fast'")


def test_set_warns_of_a_misspelt_key(caplog: pytest.LogCaptureFixture) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("SET 'paralellism.default' = '1'")
    assert "did you mean parallelism.default?" in caplog.text


def test_a_setting_that_cannot_be_names_its_option() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    wrong = "Could not parse value 'off' for key 'table.exec.mini-batch.enabled'"
    with pytest.raises(ConfigurationError, match=wrong):
        t_env.execute_sql("SET 'table.exec.mini-batch.enabled' = 'off'")
    with pytest.raises(ConfigurationError, match=wrong):
        t_env.get_config().set("table.exec.mini-batch.enabled", "off")


class _Job:
    """As much of a job as SHOW JOBS needs."""

    def __init__(self, status: JobStatus) -> None:
        self._status = status

    @property
    def job_id(self) -> JobID:
        return JobID()

    def status(self) -> JobStatus:
        return self._status


def test_a_long_session_forgets_jobs_that_have_ended() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for status in (JobStatus.RUNNING, JobStatus.FAILED, *[JobStatus.FINISHED] * 150):
        t_env._session._submitted(JobClient(_Job(status)), status.name)  # type: ignore[arg-type]
    with t_env.execute_sql("SHOW JOBS").collect() as rows:
        names = [row[1] for row in rows]
    assert names == ["RUNNING", "FAILED", *["FINISHED"] * 98]
