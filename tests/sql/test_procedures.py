"""CALL: procedures of catalogs, their arguments and their rows."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, SqlError
from headrace.sql.catalog import InMemoryCatalog
from headrace.table.catalog import Catalog, ObjectPath, Procedure, ProcedureContext, procedure
from headrace.util.exceptions import CatalogException
from tests.sql.sessions import LocalSession

calls: list[Any] = []


@procedure({"day": "DATE", "n": "BIGINT", "note": "STRING"}, result="ROW<d DATE, n BIGINT>")
def days(
    context: ProcedureContext, day: datetime.date, n: int = 1, note: str | None = None
) -> list[Any]:
    calls.append((day, n, note))
    return [(day + datetime.timedelta(days=i), i) for i in range(n)]


@procedure(result="INT")
def parallelism(context: ProcedureContext) -> list[int]:
    return [context.get_execution_environment().get_parallelism()]


class Calendar(InMemoryCatalog):
    def list_procedures(self, database: str) -> list[str]:
        return ["parallelism", "days"]

    def find_procedure(self, database: str, name: str) -> Procedure | None:
        return {"days": days, "parallelism": parallelism}.get(name)


@pytest.fixture
def session() -> LocalSession:
    made = LocalSession(parallelism=3)
    made.session.catalogs.registry.register("cal", Calendar("cal"))
    made.execute("USE CATALOG cal")
    return made


def called(session: LocalSession, statement: str) -> list[tuple[Any, ...]]:
    result = session.executor.execute(statement)
    return [tuple(row) for _, row in result.rows()]


def test_arguments_are_given_by_position_and_by_name(session: LocalSession) -> None:
    calls.clear()
    result = session.executor.execute("CALL cal.`default`.days(DATE '2024-02-29', 1 + 1)")
    assert result.schema.names == ["d", "n"]
    assert [tuple(row) for _, row in result.rows()] == [(19782, 0), (19783, 1)]
    called(session, "CALL days(note => CAST(NULL AS STRING), `day` => DATE '2024-02-29')")
    called(session, "CALL days(DATE '2024-02-29', note => UPPER('x'))")
    leap = datetime.date(2024, 2, 29)
    assert calls == [(leap, 2, None), (leap, 1, None), (leap, 1, "X")]


def test_a_result_that_is_no_row_is_one_column(session: LocalSession) -> None:
    result = session.executor.execute("CALL parallelism()")
    assert result.schema.names == ["result"]
    assert [tuple(row) for _, row in result.rows()] == [(3,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("days()", "days needs the argument 'day'"),
        ("days(1)", "argument 'day' of days is of type DATE, not INT"),
        ("days(DATE '2024-02-29', `day` => DATE '2024-02-29')", "'day' of days is there twice"),
        ("parallelism(1)", r"parallelism takes 0 arguments \(\), not 1"),
        ("dayz(1)", "Procedure `cal`.`default`.`dayz` does not exist, did you mean 'days'"),
    ],
)
def test_wrong_calls_are_refused(session: LocalSession, call: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        called(session, f"CALL {call}")


def test_procedures_are_listed(session: LocalSession) -> None:
    assert called(session, "SHOW PROCEDURES") == [("days",), ("parallelism",)]
    assert called(session, "SHOW PROCEDURES LIKE 'd%'") == [("days",)]
    assert called(session, "SHOW PROCEDURES FROM default_catalog.sys") == [("compact",)]
    assert called(session, "SHOW PROCEDURES IN default_catalog.default_database") == []
    with pytest.raises(SqlError, match="the Database `nothing` to show from/in does not exist"):
        called(session, "SHOW PROCEDURES FROM default_catalog.nothing")


def test_a_catalog_object_knows_them() -> None:
    catalog = Catalog(Calendar("cal"))
    assert catalog.list_procedures("default") == ["parallelism", "days"]
    assert catalog.get_procedure(ObjectPath("default", "days")) is days
    with pytest.raises(CatalogException, match="does not exist"):
        catalog.get_procedure(ObjectPath("default", "nothing"))


def test_a_function_must_take_what_is_declared() -> None:
    with pytest.raises(FunctionTypeError, match="must take a context and then a, as it is"):

        @procedure({"a": "INT"})
        def wrong(context: ProcedureContext, b: int) -> list[str]:
            return [str(b)]
