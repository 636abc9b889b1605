"""What sinks do with rows that their columns are not declared for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from tests.sql.sessions import LocalSession

LENGTHS = "table.exec.sink.type-length-enforcer"
NESTED = "table.exec.sink.nested-constraint-enforcer"
DROP = {"table.exec.sink.not-null-enforcer": "drop"}
LENGTHY = "a VARCHAR(3), b CHAR(3), c VARBINARY(1), r ROW<x VARCHAR(1)>, l ARRAY<CHAR(2)>"


class Tables:
    """A table to read from, with what is in its file, and one to write to."""

    def __init__(self, folder: Path, source: str, sink: str, lines: list[dict[str, Any]]) -> None:
        self._folder = folder
        self._columns = {"source": source, "sink": sink}
        for name in self._columns:
            (folder / name).mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "source" / "rows.json").write_text(text)

    def written(self, options: dict[str, str]) -> list[dict[str, Any]]:
        """What is in the second one after an INSERT of the first."""
        session = LocalSession(options=options)
        for name, columns in self._columns.items():
            session.execute(
                f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
                f"'path' = '{self._folder / name}', 'format' = 'json')"
            )
        session.insert("INSERT INTO sink SELECT * FROM source")
        files = sorted((self._folder / "sink").iterdir())
        return [json.loads(x) for f in files for x in f.read_text().splitlines()]


LONG = {"a": "abcdef", "b": "a", "c": "QUJD", "r": {"x": "xyz"}, "l": ["k", "lmn"]}


class TestLengths:
    def test_a_cast_between_types_cuts_and_pads_whatever_is_set(self, tmp_path: Path) -> None:
        source = "a STRING, b CHAR(9), c BYTES, r ROW<x STRING>, l ARRAY<CHAR(9)>"
        tables = Tables(tmp_path, source, LENGTHY, [LONG])
        fitting = {"a": "abc", "b": "a  ", "c": "QQ==", "r": {"x": "x"}, "l": ["k ", "lm"]}
        assert tables.written({}) == [fitting]

    def test_equal_types_are_written_as_they_are(self, tmp_path: Path) -> None:
        assert Tables(tmp_path, LENGTHY, LENGTHY, [LONG]).written({LENGTHS: "ignore"}) == [LONG]

    def test_or_cut_and_padded(self, tmp_path: Path) -> None:
        tables = Tables(tmp_path, LENGTHY, LENGTHY, [LONG])
        outside = {"a": "abc", "b": "a  ", "c": "QQ=="}
        assert tables.written({LENGTHS: "trim_pad"}) == [{**LONG, **outside}]

    def test_or_cut_and_padded_inside_of_rows_too(self, tmp_path: Path) -> None:
        tables = Tables(tmp_path, LENGTHY, LENGTHY, [LONG])
        inside = {"a": "abc", "b": "a  ", "c": "QQ==", "r": {"x": "x"}}
        assert tables.written({LENGTHS: "TRIM_PAD", NESTED: "rows"}) == [{**LONG, **inside}]

    @pytest.mark.parametrize(
        ("columns", "line", "path", "type_", "length"),
        [
            ("a VARCHAR(3)", {"a": "abcdef"}, "a", "VARCHAR(3)", 6),
            ("a CHAR(3)", {"a": "ab"}, "a", "CHAR(3)", 2),
            ("a VARBINARY(2)", {"a": "QUJD"}, "a", "VARBINARY(2)", 3),
            ("r ROW<x VARCHAR(1)>", {"r": {"x": "xyz"}}, "r.x", "VARCHAR(1)", 3),
            ("l ARRAY<VARCHAR(1)>", {"l": ["k", "lm"]}, "l[1]", "VARCHAR(1)", 2),
            ("m MAP<VARCHAR(1), INT>", {"m": {"lm": 1}}, "m[key]", "VARCHAR(1)", 2),
            (
                "m MAP<STRING, ROW<x CHAR(1)>>",
                {"m": {"k": {"x": "yz"}}},
                "m[value].x",
                "CHAR(1)",
                2,
            ),
        ],
    )
    def test_or_they_are_errors(
        self, tmp_path: Path, columns: str, line: dict[str, Any], path: str, type_: str, length: int
    ) -> None:
        tables = Tables(tmp_path, columns, columns, [line])
        with pytest.raises(HeadraceError) as error:
            tables.written({LENGTHS: "ERROR", NESTED: "ROWS_AND_COLLECTIONS"})
        assert (
            f"Column '{path}' is {type_}, however, a string of length {length} is being written "
            f"into it. You can set job configuration '{LENGTHS}' to control this behaviour."
        ) in str(error.value)

    def test_collections_cannot_be_made_to_fit(self, tmp_path: Path) -> None:
        tables = Tables(tmp_path, "a STRING", "a STRING", [])
        with pytest.raises(SqlError, match="padding is not supported if constraint checking is"):
            tables.written({LENGTHS: "TRIM_PAD", NESTED: "ROWS_AND_COLLECTIONS"})


ROWS = ("r ROW<x INT, y INT>", "r ROW<x INT, y INT NOT NULL>", {"r": {"x": 1, "y": None}}, "r.y")
ITEMS = ("l ARRAY<INT>", "l ARRAY<INT NOT NULL>", {"l": [1, None]}, "l[1]")
PAIRS = ("m MAP<STRING, INT>", "m MAP<STRING, INT NOT NULL>", {"m": {"k": None}}, "m[value]")


class TestNotNull:
    @pytest.mark.parametrize(
        ("source", "sink", "line", "path", "first"),
        [
            (*ROWS, "ROWS"),
            (*ITEMS, "ROWS_AND_COLLECTIONS"),
            (*PAIRS, "ROWS_AND_COLLECTIONS"),
        ],
    )
    def test_inside_of_values_it_counts_if_wanted(
        self, tmp_path: Path, source: str, sink: str, line: dict[str, Any], path: str, first: str
    ) -> None:
        tables = Tables(tmp_path, source, sink, [line])
        levels = ["IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"]
        for level in levels[levels.index(first) :]:
            with pytest.raises(HeadraceError) as error:
                tables.written({NESTED: level})
            assert f"Column '{path}' is NOT NULL, however, a null value" in str(error.value)
            assert tables.written({NESTED: level, **DROP}) == []
        for count, level in enumerate(levels[: levels.index(first)], 1):
            assert tables.written({NESTED: level}) == [line] * count

    def test_a_decimal_that_overflows_is_null(self, tmp_path: Path) -> None:
        session = LocalSession()
        session.execute(
            "CREATE TABLE sink (d DECIMAL(38, 0) NOT NULL) WITH ('connector' = 'filesystem', "
            f"'path' = '{tmp_path}', 'format' = 'json')"
        )
        with pytest.raises(HeadraceError, match="Column 'd' is NOT NULL, however, a null value"):
            session.insert(
                "INSERT INTO sink SELECT d * d FROM "
                f"(VALUES (CAST('1{'0' * 30}' AS DECIMAL(38, 0)))) AS v(d)"
            )


class TestCasts:
    @pytest.mark.parametrize(
        ("type_", "value"),
        [
            ("BIGINT", "1"),
            ("DECIMAL(3, 1)", "1E0"),
            ("STRING", "'x'"),
            ("BIGINT", "INTERVAL '2' DAY"),
        ],
    )
    def test_a_wider_type_takes_a_value(self, type_: str, value: str) -> None:
        session = LocalSession()
        session.execute(f"CREATE TABLE t (x {type_}) WITH ('connector' = 'blackhole')")
        session.insert(f"INSERT INTO t SELECT {value}")

    @pytest.mark.parametrize(
        ("type_", "value"),
        [("TINYINT", "300"), ("INT", "1.5"), ("TIMESTAMP(3)", "DATE '2020-01-02'"), ("INT", "'1'")],
    )
    def test_a_narrower_one_does_not(self, type_: str, value: str) -> None:
        session = LocalSession()
        session.execute(f"CREATE TABLE t (a INT, x {type_}) WITH ('connector' = 'blackhole')")
        with pytest.raises(SqlError, match="types for sink column 'x' at position 2"):
            session.insert(f"INSERT INTO t SELECT 1, {value}")
