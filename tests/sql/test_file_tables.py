"""Files as tables of SQL: partitions, metadata columns, formats, and what NOT NULL asks for."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from tests.s3_server import BUCKET, running_s3_server
from tests.sql.sessions import LocalSession

COLUMNS = "id INT, name STRING, `day` DATE, hour INT"


def session_with(
    path: Path, format_: str, options: str = "", columns: str = COLUMNS
) -> LocalSession:
    session = LocalSession(parallelism=2)
    partitioned = "PARTITIONED BY (`day`, hour)" if "hour" in columns else ""
    session.execute(
        f"CREATE TABLE t ({columns}) {partitioned} "
        f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = '{format_}' {options})"
    )
    return session


def rows(session: LocalSession, query: str = "SELECT * FROM t") -> list[Any]:
    return sorted((tuple(r) for _, r in session.query(query).rows), key=str)


INSERT = (
    "INSERT INTO t VALUES (1, 'a', DATE '2024-02-29', 7), (2, 'b c', DATE '2024-02-29', 8), "
    "(3, CAST(NULL AS STRING), DATE '2024-03-01', CAST(NULL AS INT))"
)
WRITTEN = [(1, "a", 19782, 7), (2, "b c", 19782, 8), (3, None, 19783, None)]


@pytest.mark.parametrize("format_", ["json", "csv", "parquet", "orc", "avro"])
def test_partitions_are_directories(tmp_path: Path, format_: str) -> None:
    options = ", 'csv.null-literal' = 'null'" if format_ == "csv" else ""
    session = session_with(tmp_path, format_, options)
    session.insert(INSERT)
    directories = sorted(str(d.relative_to(tmp_path)) for d in tmp_path.glob("*/*"))
    assert directories == [
        "day=2024-02-29/hour=7",
        "day=2024-02-29/hour=8",
        "day=2024-03-01/hour=__DEFAULT_PARTITION__",
    ]
    assert rows(session) == WRITTEN
    assert rows(session, "SELECT id FROM t WHERE hour = 8") == [(2,)]


def test_lines_do_not_repeat_the_partition(tmp_path: Path) -> None:
    session_with(tmp_path, "json").insert(INSERT)
    [file] = (tmp_path / "day=2024-02-29" / "hour=7").iterdir()
    assert file.read_text() == '{"id":1,"name":"a"}\n'


def test_a_static_partition_is_named_by_the_statement(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv")
    session.insert(
        "INSERT INTO t PARTITION (`day` = DATE '2024-01-01', hour = 1) SELECT 1, 'x/y=z %'"
    )
    session.insert("INSERT INTO t (id, `day`, hour) VALUES (2, DATE '2024-01-01', 2)")
    assert rows(session) == [(1, "x/y=z %", 19723, 1), (2, "", 19723, 2)]


def test_values_of_partitions_may_have_any_characters(tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(
        "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'json')"
    )
    session.insert("INSERT INTO t VALUES (1, 'x/y=z %'), (2, '..'), (3, 'ä')")
    assert rows(session) == [(1, "x/y=z %"), (2, ".."), (3, "ä")]


def test_a_partition_is_marked_when_its_files_are_there(tmp_path: Path) -> None:
    options = ", 'sink.partition-commit.policy.kind' = 'success-file'"
    session = session_with(tmp_path, "json", options)
    session.insert(INSERT)
    assert len(list(tmp_path.glob("*/*/_SUCCESS"))) == 3
    assert rows(session) == WRITTEN


def test_without_partitions_files_are_in_the_directory_itself(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv", columns="id INT, name STRING")
    session.insert("INSERT INTO t VALUES (1, 'a')")
    assert [f.read_text() for f in tmp_path.iterdir()] == ["1,a\n"]


LINE_ENDS = ["a\nb", "\n", 'x"\r\n"y', "\rz", "plain", ""]


@pytest.mark.parametrize("options", ["", ", 'csv.escape-character' = '!'"])
def test_text_with_line_ends_is_read_back(tmp_path: Path, options: str) -> None:
    session = session_with(tmp_path, "csv", options, "id INT, name STRING")
    texts = ", ".join(f"({i}, '{text}')" for i, text in enumerate(LINE_ENDS))
    session.insert(f"INSERT INTO t VALUES {texts}")
    assert rows(session) == list(enumerate(LINE_ENDS))


def test_a_line_within_quotes_is_not_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"a\n2,b\n3,c"\n4,d\nx,e\n5,"f\n6,g\n')
    options = ", 'csv.ignore-parse-errors' = 'true'"
    session = session_with(tmp_path, "csv", options, "id INT, name STRING")
    assert rows(session) == [(1, "a\n2,b\n3,c"), (4, "d"), (None, "e")]


def test_a_row_of_an_empty_text_is_read_back(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv", columns="name STRING")
    session.insert("INSERT INTO t VALUES (''), ('a'), (CAST(NULL AS STRING))")
    assert rows(session) == [("",), ("",), ("a",)]


def test_a_row_of_null_is_read_back(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv", columns="n INT")
    session.insert("INSERT INTO t VALUES (1), (CAST(NULL AS INT))")
    assert rows(session) == [(1,), (None,)]


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"id": 1}\n{"id": 2}\n')
    (tmp_path / "two.json").write_text('{"id": 3}')
    columns = (
        "id INT, `file.path` STRING NOT NULL METADATA, f STRING METADATA FROM 'file.name', "
        "s BIGINT METADATA FROM 'file.size', "
        "m TIMESTAMP_LTZ(3) METADATA FROM 'file.modification-time'"
    )
    session = session_with(tmp_path, "json", columns=columns)
    found = rows(session, "SELECT id, f, s, `file.path` FROM t")
    one, two = str(tmp_path / "one.json"), str(tmp_path / "two.json")
    assert found == [(1, "one.json", 20, one), (2, "one.json", 20, one), (3, "two.json", 9, two)]
    modified = int((tmp_path / "two.json").stat().st_mtime * 1000) * 1000
    assert rows(session, "SELECT m FROM t WHERE id = 3") == [(modified,)]


@pytest.mark.parametrize("format_", ["json", "parquet", "orc", "avro"])
def test_formats_keep_all_types(tmp_path: Path, format_: str) -> None:
    columns = (
        "a TINYINT, b BIGINT NOT NULL, c DOUBLE, d DECIMAL(10, 2), e BOOLEAN, f BYTES, g DATE, "
        "i TIMESTAMP(3), j TIMESTAMP(6), k ARRAY<INT>, l MAP<STRING, INT>, "
        "m ROW<x INT, y STRING>"
    )
    session = session_with(tmp_path, format_, columns=columns)
    row = (
        "CAST(1 AS TINYINT), CAST(2 AS BIGINT), 2.5E0, CAST(3.25 AS DECIMAL(10, 2)), TRUE, x'00ff',"
        " DATE '1969-12-31', TIMESTAMP '2024-02-29 01:02:03.456', "
        "TIMESTAMP '1969-12-31 23:59:59.000001', ARRAY[1, CAST(NULL AS INT)], MAP['k', 1], "
        "CAST(ROW(1, 'y') AS ROW<x INT, y STRING>)"
    )
    session.insert(f"INSERT INTO t SELECT {row}")
    written = [tuple(r) for _, r in LocalSession().query(f"SELECT {row}").rows]
    assert rows(session) == written


@pytest.mark.parametrize("format_", ["parquet", "orc", "avro"])
def test_columns_are_found_by_name(tmp_path: Path, format_: str) -> None:
    written = session_with(tmp_path, format_, columns="a INT, b STRING, c DOUBLE")
    written.insert("INSERT INTO t VALUES (1, 'x', 0.5)")
    read = session_with(tmp_path, format_, columns="c DOUBLE, d STRING, a INT")
    assert rows(read) == [(0.5, None, 1)]


@pytest.mark.parametrize(
    ("columns", "options", "statement", "message"),
    [
        ("x STRING METADATA FROM 'file.nam'", "", "SELECT * FROM t", "did you mean 'file.name'"),
        ("x STRING METADATA FROM 'file.name'", "", "INSERT INTO t VALUES ('a')", "VIRTUAL"),
        (
            COLUMNS,
            ", 'sink.partition-commit.trigger' = 'event-time'",
            INSERT,
            "process-time or partition-time",
        ),
        (COLUMNS, ", 'sink.partition-commit.policy.kind' = 'metastore'", INSERT, "hive table"),
        (COLUMNS, ", 'sink.partition-commit.policy.kind' = 'succes'", INSERT, "Unsupported policy"),
        (COLUMNS, ", 'sink.partition-commit.policy.kind' = 'custom'", INSERT, "policy.class"),
        (
            COLUMNS,
            ", 'sink.partition-commit.policy.kind' = 'custom', "
            "'sink.partition-commit.policy.class' = 'nowhere:Policy'",
            INSERT,
            "'nowhere:Policy' cannot be loaded",
        ),
        (COLUMNS, ", 'partition.time-extractor.kind' = 'mine'", INSERT, "default, or custom with"),
        (
            COLUMNS,
            ", 'json.timestamp-format.standard' = 'ISO'",
            "SELECT * FROM t",
            "Supported values are [SQL, ISO-8601]",
        ),
        (COLUMNS, ", 'json.ignore-parse-errors' = 'yes'", "SELECT * FROM t", "[true, false]"),
        (COLUMNS, ", 'jsn.ignore-parse-errors' = 'true'", "SELECT * FROM t", "did you mean"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_planned(
    tmp_path: Path, columns: str, options: str, statement: str, message: str
) -> None:
    session = session_with(tmp_path, "json", options, columns)
    with pytest.raises(SqlError) as error:
        session.executor.execute(f"EXPLAIN {statement}")
    assert message in str(error.value)


class TestNotNull:
    INSERT = "INSERT INTO t SELECT NULLIF(x, 2), 'n' FROM (VALUES (1), (2), (3)) AS v(x)"

    def test_null_fails_where_it_must_not_be(self, tmp_path: Path) -> None:
        session = session_with(tmp_path, "json", columns="id INT NOT NULL, name STRING")
        with pytest.raises(HeadraceError, match="Column 'id' is NOT NULL, however, a null value"):
            session.insert(self.INSERT)

    def test_or_such_rows_are_dropped(self, tmp_path: Path) -> None:
        session = session_with(tmp_path, "json", columns="id INT NOT NULL, name STRING")
        session.execute("SET 'table.exec.sink.not-null-enforcer' = 'DROP'")
        session.insert(self.INSERT)
        assert rows(session) == [(1, "n"), (3, "n")]


def test_a_sink_has_subtasks_of_its_own(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv", ", 'sink.parallelism' = '3'", "n INT")
    session.insert(f"INSERT INTO t VALUES {', '.join(f'({i})' for i in range(30))}")
    assert len(list(tmp_path.iterdir())) == 3
    assert rows(session) == sorted([(i,) for i in range(30)], key=str)
    session = session_with(tmp_path, "csv", ", 'sink.parallelism' = '0'", "n INT")
    with pytest.raises(SqlError, match="is positive, not 0"):
        session.insert("INSERT INTO t VALUES (1)")


def overwriting(
    path: Path | str,
    format_: str = "json",
    partitioned: bool = True,
    options: Mapping[str, str] | None = None,
) -> LocalSession:
    session = LocalSession(batch=True, parallelism=2, options=options)
    by = "PARTITIONED BY (`day`)" if partitioned else ""
    session.execute(
        f"CREATE TABLE t (id INT, `day` STRING) {by} "
        f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = '{format_}')"
    )
    session.insert("INSERT INTO t VALUES (1, 'mon'), (2, 'tue')")
    return session


def test_overwrite_replaces_the_partitions_that_get_rows(tmp_path: Path) -> None:
    session = overwriting(tmp_path)
    session.insert("INSERT OVERWRITE t VALUES (3, 'tue'), (4, 'wed')")
    assert rows(session) == [(1, "mon"), (3, "tue"), (4, "wed")]
    session.insert("INSERT OVERWRITE t SELECT id, `day` FROM t WHERE FALSE")
    assert len(rows(session)) == 3


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_overwrite_replaces_a_table_that_it_reads(tmp_path: Path, format_: str) -> None:
    session = overwriting(tmp_path, format_, partitioned=False)
    session.insert("INSERT OVERWRITE t SELECT id + 10, `day` FROM t")
    assert rows(session) == [(11, "mon"), (12, "tue")]
    session.insert("INSERT OVERWRITE t SELECT id, `day` FROM t WHERE FALSE")
    assert rows(session) == []


def test_overwrite_keeps_what_is_there_if_the_job_fails(tmp_path: Path) -> None:
    session = overwriting(tmp_path, partitioned=False)
    with pytest.raises(HeadraceError):
        session.insert("INSERT OVERWRITE t SELECT 1 / (id - id), `day` FROM t")
    assert rows(session) == [(1, "mon"), (2, "tue")]


@pytest.mark.server
def test_overwrite_replaces_files_of_an_object_store_once_although_the_job_failed() -> None:
    with running_s3_server() as server:
        place = f"s3://{BUCKET}/table"
        session = overwriting(place, options=server.settings)
        session.insert("INSERT OVERWRITE t VALUES (3, 'tue'), (4, 'wed')", restore_after=[1])
        assert rows(session) == [(1, "mon"), (3, "tue"), (4, "wed")]
        session.insert(
            "INSERT OVERWRITE t SELECT id + 10, `day` FROM t", epoch_records=1, restore_after=[1, 2]
        )
        assert rows(session) == [(11, "mon"), (13, "tue"), (14, "wed")]
        with pytest.raises(HeadraceError):
            session.insert("INSERT OVERWRITE t SELECT 1 / (id - id), `day` FROM t")
        assert len(rows(session)) == 3
        # Nothing is left of what was replaced or never finished.
        assert len(server.files().find(place)) == 3
        uploads = server.files().call_s3("list_multipart_uploads", Bucket=BUCKET)
        assert not uploads.get("Uploads")


def test_overwrite_is_for_batch_mode(tmp_path: Path) -> None:
    session = session_with(tmp_path, "json")
    with pytest.raises(SqlError, match="Streaming mode not support overwrite"):
        session.insert(INSERT.replace("INTO", "OVERWRITE"))


def test_names_of_partitions_are_those_of_hive(tmp_path: Path) -> None:
    columns = "id INT, name STRING"
    session = LocalSession()
    session.execute(
        f"CREATE TABLE t ({columns}) PARTITIONED BY (name) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    names = ["\u00e4<>|`", "a b/c=d%", "[x]{y}#\\^*?:"]
    for number, name in enumerate(names):
        session.insert(f"INSERT INTO t VALUES ({number}, '{name}')")
    session.insert("INSERT INTO t VALUES (9, '')")
    assert {d.name for d in tmp_path.iterdir()} == {
        "name=\u00e4<>|`",
        "name=a b%2Fc%3Dd%25",
        "name=%5Bx%5D%7By%7D%23%5C%5E%2A%3F%3A",
        "name=__DEFAULT_PARTITION__",
    }
    assert rows(session) == [*enumerate(names), (9, None)]


def test_the_value_of_a_static_partition_is_cast(tmp_path: Path) -> None:
    session = session_with(tmp_path, "csv")
    session.insert("INSERT INTO t PARTITION (`day` = '2024-01-01', hour = '7') SELECT 1, 'a'")
    assert rows(session) == [(1, "a", 19723, 7)]


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, format_: str) -> None:
    line = {"csv": "1,x", "json": '{"id":1,"name":"x"}'}[format_]
    (tmp_path / "file").write_text(f"\ufeff{line}\n{line}\n")
    assert rows(session_with(tmp_path, format_, columns="id INT, name STRING")) == [(1, "x")] * 2


@pytest.mark.parametrize("format_", ["json", "csv", "parquet", "orc", "avro"])
def test_large_decimals_are_kept(tmp_path: Path, format_: str) -> None:
    session = session_with(tmp_path, format_, columns="id INT, d DECIMAL(38, 10)")
    session.insert("INSERT INTO t VALUES (1, 1234567890123456789012345678.0123456789)")
    found = rows(session, "SELECT CAST(d AS STRING) FROM t")
    assert found == [("1234567890123456789012345678.0123456789",)]
    session.insert(f"INSERT INTO t SELECT 2, CAST('-{'9' * 28}.{'9' * 10}' AS DECIMAL(38, 10))")
    found = rows(session, "SELECT CAST(d AS STRING) FROM t WHERE id = 2")
    assert found == [(f"-{'9' * 28}.{'9' * 10}",)]


FLINK = Path(__file__).parent / "data/flink"
"""Files that Flink 2.3 wrote on a machine in New York, with its default options."""


def test_times_of_flink_have_the_clock_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    columns = "i INT, a TIMESTAMP(3), b TIMESTAMP(6), c TIMESTAMP(9)"
    session = session_with(FLINK / "times.parquet", "parquet", columns=columns)
    found = rows(session, "SELECT i, CAST(a AS STRING), CAST(b AS STRING) FROM t")
    assert found == [
        (0, "2024-02-29 12:34:56.123", "2024-02-29 12:34:56.123456"),
        (1, "1969-12-31 23:59:59.999", "1969-12-31 23:59:59.999999"),
        (2, "1969-12-31 23:59:59.500", "1969-12-31 23:59:59.500000"),
        (3, "1900-01-01 00:00:00.000", "1900-01-01 00:00:00.000000"),
        (4, "2024-03-31 02:30:00.000", "2024-03-31 02:30:00.000000"),
        (5, "2024-10-27 02:30:00.000", "2024-10-27 02:30:00.000000"),
        # There was no half past two on that day.
        (6, "2024-03-10 03:30:00.000", "2024-03-10 03:30:00.000000"),
    ]
    assert rows(session, "SELECT b FROM t WHERE c = b") == rows(session, "SELECT b FROM t")
    utc = session_with(
        FLINK / "times.parquet", "parquet", ", 'parquet.utc-timezone' = 'true'", columns
    )
    assert rows(utc, "SELECT CAST(b AS STRING) FROM t WHERE i = 0") == [
        ("2024-02-29 17:34:56.123456",)
    ]


@pytest.mark.parametrize("format_", ["parquet", "avro"])
def test_what_flink_has_nested_is_read(format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    columns = (
        "i INT, a ARRAY<TIMESTAMP(3)>, b ROW<t TIMESTAMP(3), d DATE, n DECIMAL(20, 3), k BYTES>, "
        "c MAP<STRING, DATE>, d ARRAY<DATE>"
    )
    session = session_with(FLINK / f"nested.{format_}", format_, columns=columns)
    texts = ", ".join(f"CAST({name} AS STRING)" for name in "iabcd")
    assert rows(session, f"SELECT {texts} FROM t") == [
        (
            "1",
            "[2024-02-29 12:34:56.123, NULL]",
            "(1969-12-31 23:59:59.500, 1500-03-01, 1.500, \x01\x02)",
            "{d=2024-02-29}",
            "[1969-12-31]",
        )
    ]


@pytest.mark.parametrize("options", ["", ", 'auto-compaction' = 'true'"])
def test_files_have_numbers_where_flink_reads_numbers(tmp_path: Path, options: str) -> None:
    import pyarrow.parquet as pq

    columns = "a TIME(3), b ARRAY<TIME(3)>, c DECIMAL(9, 2), d DECIMAL(18, 2), e DECIMAL(38, 2)"
    session = session_with(tmp_path, "parquet", options, columns)
    time, number = "TIME '01:02:03.004'", "CAST(-1.25 AS DECIMAL(9, 2))"
    row = f"SELECT {time}, ARRAY[{time}, NULL], {number}, {number}, {number}"
    session.insert(f"INSERT INTO t {row}")
    [file] = [path for path in tmp_path.iterdir() if path.is_file()]
    schema = pq.ParquetFile(file).schema
    kinds = [schema.column(i).physical_type for i in range(len(schema))]
    assert kinds == ["INT32", "INT32", "INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"]
    assert rows(session) == [tuple(r) for _, r in LocalSession().query(row).rows]


def test_old_times_of_any_year_are_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    years = [1, 1500, 1900, 2024, 9999]
    times = pa.array([dt.datetime(year, 6, 1, 12) for year in years], pa.timestamp("us"))
    table = pa.table({"a": times.cast("timestamp[s]")})
    pq.write_table(table, tmp_path / "a", use_deprecated_int96_timestamps=True)
    utc = ", 'parquet.utc-timezone' = 'true'"
    session = session_with(tmp_path, "parquet", utc, "a TIMESTAMP(3)")
    found = rows(session, "SELECT CAST(YEAR(a) AS INT) FROM t")
    assert sorted(found) == [(year,) for year in years]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_files_are_chosen_by_a_pattern(tmp_path: Path, format_: str) -> None:
    other = ", 'source.report-statistics' = 'NONE'"
    for name in ("one", "two", "three"):
        into = session_with(tmp_path / name, format_, other, "id INT, name STRING")
        into.insert(f"INSERT INTO t VALUES (1, '{name}')")
    pattern = f", 'source.path.regex-pattern' = '{tmp_path}/(one|two)/.*'"
    session = session_with(tmp_path, format_, pattern, "id INT, name STRING")
    assert rows(session) == [(1, "one"), (1, "two")]
    with pytest.raises(SqlError, match="is no pattern"):
        rows(session_with(tmp_path, format_, ", 'source.path.regex-pattern' = '['"))


@pytest.mark.parametrize(
    ("format_", "options"),
    [
        ("parquet", {"parquet.block.size": "1000", "parquet.write.int64.timestamp": "true"}),
        ("orc", {"orc.stripe.size": "1000", "orc.compress": "snappy"}),
    ],
)
def test_options_for_the_libraries_of_flink(
    tmp_path: Path, format_: str, options: dict[str, str]
) -> None:
    more = "".join(f", '{key}' = '{value}'" for key, value in options.items())
    session = session_with(tmp_path, format_, more, "id INT, name STRING")
    session.insert("INSERT INTO t VALUES (1, 'a')")
    assert rows(session) == [(1, "a")]


def test_metadata_is_cast_to_the_declared_type(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("1\n")
    os.utime(file, (0, 0))
    session = LocalSession(options={"table.local-time-zone": "Asia/Tokyo"})
    session.execute(
        "CREATE TABLE t (id INT, at TIMESTAMP(3) METADATA FROM 'file.modification-time' VIRTUAL, "
        "size STRING METADATA FROM 'file.size' VIRTUAL, twice AS id * 2) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    found = rows(session, "SELECT id, CAST(at AS STRING), size, twice FROM t")
    assert found == [(1, "1970-01-01 09:00:00.000", "2", 2)]
