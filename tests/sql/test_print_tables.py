"""What tables of the print connector write, as Flink 2.3 does."""

from __future__ import annotations

from tests.sql.sessions import LocalSession


def test_decimals_are_written_as_java_does() -> None:
    session = LocalSession()
    session.execute(
        "CREATE TABLE p (a DECIMAL(20, 10), b ROW<x DECIMAL(20, 10)>, c DECIMAL(38, 0), "
        "d ARRAY<DECIMAL(8, 7)>, e DECIMAL(8, 6), f DECIMAL(38, 18)) WITH ('connector' = 'print')"
    )
    lines = session.insert(
        "INSERT INTO p VALUES (CAST(0.0000000001 AS DECIMAL(20, 10)), "
        "ROW(CAST(0 AS DECIMAL(20, 10))), CAST('100000000000000000000' AS DECIMAL(38, 0)), "
        "ARRAY[CAST(-0.0000012 AS DECIMAL(8, 7)), CAST(0.0000001 AS DECIMAL(8, 7))], "
        "CAST(0 AS DECIMAL(8, 6)), CAST(1.5 AS DECIMAL(38, 18)))"
    )
    assert lines == [
        "+I[1E-10, +I[0E-10], 100000000000000000000, [-0.0000012, 1E-7], 0.000000, "
        "1.500000000000000000]"
    ]
