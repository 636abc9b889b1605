"""`headrace doctor` on files and on servers that are not there; real ones are in tests/jdbc."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cluster.cli import main
from headrace.cluster.exit_codes import ExitCode

PROGRAM = """
from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.common.serialization import Encoder

env = StreamExecutionEnvironment.get_execution_environment()
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "{path}/in").build()
sink = FileSink.for_row_format("{sink}", Encoder.simple_string_encoder()).build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").sink_to(sink)
env.execute()
raise AssertionError("a doctor runs nothing")
"""


def doctor(file: Path, text: str) -> int:
    file.write_text(text, encoding="utf-8")
    return main(["doctor", "--here", str(file)])


def test_what_can_be_reached_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\n")
    code = doctor(tmp_path / "job.py", PROGRAM.format(path=tmp_path, sink=tmp_path / "out"))
    lines = capsys.readouterr().out.splitlines()
    assert code == ExitCode.OK
    assert [line.split()[0] for line in lines] == ["ok", "ok"]
    assert f"1 files or parts at {tmp_path}/in" in lines[0]
    assert not (tmp_path / "out").exists()


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "file").write_text("")
    code = doctor(tmp_path / "job.py", PROGRAM.format(path=tmp_path, sink=tmp_path / "file" / "x"))
    assert code == ExitCode.FAILED
    assert "is not a directory that this user may write to" in capsys.readouterr().out


def test_statements_are_planned_and_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("1,a\n")
    code = doctor(
        tmp_path / "report.sql",
        f"""
        CREATE TABLE a (id INT, name STRING) WITH (
          'connector' = 'filesystem', 'path' = '{tmp_path}/in.csv', 'format' = 'csv');
        CREATE TABLE b (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
          'connector' = 'jdbc', 'url' = 'jdbc:postgresql://127.0.0.1:1/x', 'table-name' = 'b');
        INSERT INTO b SELECT id, MAX(name) FROM a GROUP BY id;
        INSERT INTO b SELECT nothing FROM a;
        """,
    )
    lines = capsys.readouterr().out.splitlines()
    assert code == ExitCode.FAILED
    text = "\n".join(lines)
    assert "jdbc:postgresql://127.0.0.1:1/x cannot be reached" in text
    assert "FAILED  INSERT INTO b SELECT nothing FROM a" in text
    assert any(line.startswith("ok") and "1 files or parts" in line for line in lines)


def test_all_tables_of_a_batch_query_are_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("1,a\n")
    code = doctor(
        tmp_path / "report.sql",
        f"""
        SET 'execution.runtime-mode' = 'batch';
        CREATE TABLE a (id INT, name STRING) WITH (
          'connector' = 'filesystem', 'path' = '{tmp_path}/in.csv', 'format' = 'csv');
        CREATE TABLE b (id INT, name STRING) WITH (
          'connector' = 'jdbc', 'url' = 'jdbc:postgresql://127.0.0.1:1/x', 'table-name' = 'b');
        CREATE TABLE c (name STRING, n BIGINT) WITH ('connector' = 'blackhole');
        INSERT INTO c SELECT a.name, COUNT(*) FROM a JOIN b ON a.id = b.id GROUP BY a.name;
        """,
    )
    lines = capsys.readouterr().out.splitlines()
    assert code == ExitCode.FAILED
    assert [line.split()[0] for line in lines] == ["ok", "FAILED", "ok"]
    assert "1 files or parts" in lines[0]
    assert "jdbc:postgresql://127.0.0.1:1/x cannot be reached" in lines[1]


LOOKUP = """
CREATE TABLE orders (id INT, pt AS PROCTIME()) WITH ('connector' = 'datagen');
CREATE TABLE names (id INT, name STRING) WITH ({names});
CREATE TABLE result (id INT, name STRING) WITH ('connector' = 'blackhole');
INSERT INTO result SELECT o.id, n.name
FROM orders AS o JOIN names FOR SYSTEM_TIME AS OF o.pt AS n ON o.id = n.id;
"""


@pytest.mark.parametrize("cache", ["NONE", "PARTIAL", "FULL"])
def test_tables_of_lookup_joins_are_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cache: str
) -> None:
    names = (
        "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://127.0.0.1:1/x', 'table-name' = 'names', "
        f"'lookup.cache' = '{cache}'"
    )
    if cache == "PARTIAL":
        names += ", 'lookup.partial-cache.max-rows' = '9'"
    if cache == "FULL":
        names += ", 'lookup.full-cache.periodic-reload.interval' = '1 h'"
    assert doctor(tmp_path / "report.sql", LOOKUP.format(names=names)) == ExitCode.FAILED
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1
    assert "LookupJoin" in failed[0]
    assert "jdbc:postgresql://127.0.0.1:1/x cannot be reached" in failed[0]


def test_a_program_without_a_job_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(tmp_path / "job.py", "print('hello')") == ExitCode.FAILED
    assert "no source or sink to try" in capsys.readouterr().err
