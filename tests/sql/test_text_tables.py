"""Tables of CSV and JSON files, whose lines are read as columns where they are plain enough."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import ColumnRows
from headrace.formats.text_columns import FEW
from headrace.runtime.batch import LazyBatch
from headrace.sql import types as t
from headrace.sql.connectors.kafka.rows import ValueSchema
from headrace.sql.connectors.message_parts import Part
from headrace.sql.formats.base import FormatOptions
from tests.sql.sessions import LocalSession

Line = tuple[str | None, int | None, float | None, str | None]

QUERY = (
    "SELECT k, COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(v), MAX(v), MIN(s), MAX(s), SUM(d), AVG(d) "
    "FROM t GROUP BY k"
)


def lines_of(seed: int) -> list[Line]:
    choose = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if choose.random() < 0.1 else value

    return [
        (
            maybe(choose.choice(["a", "b,c", 'd"e', "é", ""])),
            maybe(choose.randrange(-1000, 1000)),
            maybe(choose.randrange(100) / 4),
            maybe(f"s{choose.randrange(100)}"),
        )
        for _ in range(2 * FEW)
    ]


def text_of(line: Line, format_: str) -> str:
    if format_ == "json":
        pairs = zip(("k", "v", "d", "s"), line, strict=True)
        return json.dumps({name: value for name, value in pairs if value is not None})
    k, v, d, s = ("nil" if x is None else str(x) for x in line)
    k = '"' + k.replace('"', '""') + '"' if {",", '"'} & set(k) else k
    return f"{k},{v},{d},{s}"


def results_of(lines: list[Line]) -> list[Any]:
    groups: dict[Any, list[Line]] = {}
    for line in lines:
        groups.setdefault(line[0], []).append(line)
    found = []
    for key, group in groups.items():
        _, v, d, s = ([x for x in column if x is not None] for column in zip(*group, strict=True))
        whole = (len(v), sum(v), int(sum(v) / len(v)), min(v), max(v))
        found.append((key, len(group), *whole, min(s), max(s), sum(d), sum(d) / len(d)))
    return found


def session_with(path: Path, format_: str, **settings: Any) -> LocalSession:
    session = LocalSession(**settings)
    session.execute(
        "CREATE TABLE t (k STRING, v BIGINT, d DOUBLE, s STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{path}', 'format' = '{format_}', '{format_}.ignore-parse-errors' = 'true'"
        + (", 'csv.null-literal' = 'nil')" if format_ == "csv" else ")")
    )
    return session


def write(path: Path, files: list[list[str]]) -> None:
    for number, lines in enumerate(files):
        (path / f"part-{number}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(session: LocalSession, query: str, **settings: Any) -> list[Any]:
    return sorted(session.query(query, **settings).materialized(), key=repr)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_groups_are_the_same_however_files_are_cut(
    tmp_path: Path, format_: str, batch: bool
) -> None:
    files = [lines_of(seed) for seed in range(4)]
    texts = [[text_of(line, format_) for line in lines] for lines in files]
    # Neither of these is a row: the lines around them are read one by one.
    texts[1].insert(70, "a,b,c,d,e" if format_ == "csv" else "{")
    texts[2].insert(20, "")
    write(tmp_path, texts)
    expected = sorted(results_of([line for lines in files for line in lines]), key=repr)
    for parallelism, epoch, restores in ((1, 1000, ()), (2, 300, (1, 3)), (3, 210, (2, 4, 5))):
        session = session_with(tmp_path, format_, batch=batch, parallelism=parallelism)
        found = rows_of(session, QUERY, epoch_records=epoch, restore_after=restores)
        assert found == expected


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_plain_lines_are_aggregated_without_making_rows(
    tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(1)
    write(tmp_path, [[text_of(line, format_) for line in lines]])

    def fail(batch: LazyBatch) -> list[Any]:
        raise AssertionError("rows were made")

    monkeypatch.setattr(LazyBatch, "values", property(fail))
    session = session_with(tmp_path, format_)
    assert rows_of(session, QUERY) == sorted(results_of(lines), key=repr)
    large = [
        line for line in lines if line[2] is not None and line[2] > 7.5 and line[1] is not None
    ]
    where = "WHERE d > 7.5 AND v IS NOT NULL AND 'z' > s AND v <> 3"
    expected = results_of([line for line in large if line[3] is not None and line[1] != 3])
    grouped = rows_of(session, QUERY.replace("GROUP", f"{where} GROUP"))
    assert grouped == sorted(expected, key=repr)
    [(count, total)] = rows_of(session, "SELECT COUNT(*), SUM(v) FROM t")
    assert (count, total) == (len(lines), sum(line[1] or 0 for line in lines))


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_messages_of_kafka_stay_columns_with_the_fields_that_somebody_looks_at(
    format_: str,
) -> None:
    row_type = t.RowType([t.RowField("k", t.IntType()), t.RowField("s", t.VarCharType(9))], False)
    part = Part(format_, FormatOptions({}), (0, 1), row_type)
    schema = ValueSchema(part, needed=(0,))
    schema.open()
    texts = [f'{{"k": {i}, "s": "a"}}' if format_ == "json" else f"{i},a" for i in range(FEW)]
    messages = [text.encode() for text in texts]
    rows = schema.of_values([None, *messages])
    assert isinstance(rows, ColumnRows)
    # A line of CSV is read as a whole.
    rest = None if format_ == "json" else "a"
    assert len(rows) == FEW
    assert list(rows) == [(i, rest) for i in range(FEW)]
    assert schema.of_values([None]) == []
    wrong = b"{" if format_ == "json" else b"1,2,3"
    with pytest.raises(HeadraceError, match="Failed to deserialize"):
        schema.of_values([*messages, wrong])


def test_sums_that_need_more_than_64_bits_are_exact(tmp_path: Path) -> None:
    lines: list[Line] = [("a", 2**62, 0.0, "x")] * FEW + [("a", -(2**62), 0.0, "x")] * (FEW - 3)
    write(tmp_path, [[text_of(line, "csv") for line in lines]])
    query = "SELECT k, AVG(v) FROM t GROUP BY k"
    assert rows_of(session_with(tmp_path, "csv"), query) == [("a", 3 * 2**62 // (2 * FEW - 3))]


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_rows_filters_and_joins_of_text(tmp_path: Path, format_: str) -> None:
    lines = lines_of(3)
    write(tmp_path, [[text_of(line, format_) for line in lines]])
    session = session_with(tmp_path, format_, parallelism=2)
    assert rows_of(session, "SELECT * FROM t") == sorted(lines, key=repr)
    large = [(s, v) for _, v, _, s in lines if v is not None and v > 100]
    assert rows_of(session, "SELECT s, v FROM t WHERE v > 100") == sorted(large, key=repr)
    joined = rows_of(session, "SELECT a.v FROM t AS a JOIN t AS b ON a.v = b.v")
    values = [v for _, v, _, _ in lines if v is not None]
    assert joined == sorted(((a,) for a in values for b in values if a == b), key=repr)
