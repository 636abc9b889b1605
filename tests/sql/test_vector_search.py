"""VECTOR_SEARCH: rows with the rows of a table whose vectors are most like theirs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.common.errors import JobExecutionError, SqlError
from headrace.sql.lookups.python_source import as_lookup_source
from headrace.sql.types.data_types import DataTypes
from headrace.table import Schema, TableDescriptor, VectorSearchTableSource
from tests.sql.sessions import LocalSession, place_of

VECTORS = {1: (5.0, 12.0, 13.0), 2: (11.0, 60.0, 61.0), 3: (8.0, 15.0, 17.0)}
SEARCH = "LATERAL TABLE(VECTOR_SEARCH(TABLE docs, DESCRIPTOR(v), {}, {}))"


def _cosine(a: Any, b: Any) -> float:
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.fixture(params=[False, True], ids=["streaming", "batch"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> LocalSession:
    """Two tables with the same vectors, and one with a NULL."""
    made = LocalSession(batch=request.param)
    lines = [json.dumps({"id": i, "v": v}) for i, v in VECTORS.items()]
    (tmp_path / "docs.json").write_text("\n".join([*lines, '{"id": 4, "v": null}']))
    made.execute(
        "CREATE TABLE docs (id BIGINT, v ARRAY<FLOAT>) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path / 'docs.json'}', 'format' = 'json')"
    )
    made.execute("CREATE VIEW src AS SELECT * FROM docs WHERE id <> 4")
    return made


def found(session: LocalSession, query: str) -> list[Any]:
    return sorted(session.query(query).materialized(), key=str)


def approx(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(*row[:-1], pytest.approx(row[-1])) for row in rows]


class TestResults:
    def test_the_most_similar_rows(self, session: LocalSession) -> None:
        rows = found(
            session, f"SELECT s.id, d.id, d.score FROM src AS s, {SEARCH.format('s.v', 2)} AS d"
        )
        # Those of Flink's own tests.
        assert rows == approx(
            [
                (1, 1, 1.0),
                (1, 3, 0.9977375565610862),
                (2, 1, 0.9886506935687265),
                (2, 2, 1.0),
                (3, 1, 0.9977375565610862),
                (3, 3, 1.0),
            ]
        )

    def test_all_columns_and_the_score(self, session: LocalSession) -> None:
        query = f"SELECT * FROM src, {SEARCH.format('src.v', 1)} WHERE src.id = 2"
        assert session.plan(query).schema.names == ["id", "v", "id0", "v0", "score"]
        assert found(session, query) == [(2, VECTORS[2], 2, VECTORS[2], pytest.approx(1.0))]

    def test_a_left_join_keeps_rows_without_a_vector(self, session: LocalSession) -> None:
        rows = found(
            session,
            f"SELECT s.id, d.id FROM docs AS s LEFT JOIN {SEARCH.format('s.v', 1)} AS d ON TRUE",
        )
        assert rows == [(1, 1), (2, 2), (3, 3), (4, None)]

    @pytest.mark.parametrize("prefix", ["", "LATERAL "])
    def test_a_constant(self, session: LocalSession, prefix: str) -> None:
        call = SEARCH.format("ARRAY[5, 12, 13]", 2).removeprefix("LATERAL ")
        rows = found(session, f"SELECT id, score FROM {prefix}{call}")
        assert rows == approx([(1, 1.0), (3, 0.9977375565610862)])

    def test_named_arguments(self, session: LocalSession) -> None:
        rows = found(
            session,
            "SELECT d.id FROM TABLE(VECTOR_SEARCH(COLUMN_TO_QUERY => ARRAY[5.0, 12.0, 13.5], "
            "TOP_K => 1, SEARCH_TABLE => TABLE docs, COLUMN_TO_SEARCH => DESCRIPTOR(v))) AS d",
        )
        assert rows == [(1,)]

    def test_other_columns_of_the_table(self, session: LocalSession) -> None:
        call = (
            "VECTOR_SEARCH((SELECT v AS w, id * 10 AS ten, 0 AS score FROM docs), DESCRIPTOR(w), "
            "ARRAY[5, 12, 13], 1)"
        )
        rows = found(session, f"SELECT ten, score, score0 FROM TABLE({call})")
        assert rows == [(10, 0, pytest.approx(1.0))]

    @pytest.mark.parametrize(
        ("metric", "best", "score"),
        [
            ("dot", 2, 5 * 11 + 12 * 60 + 13 * 61),
            ("euclidean", 1, 1.0),
            ("cosine", 1, 1.0),
        ],
    )
    def test_metrics(self, session: LocalSession, metric: str, best: int, score: float) -> None:
        rows = found(
            session,
            "SELECT id, score FROM TABLE(VECTOR_SEARCH(TABLE docs, DESCRIPTOR(v), "
            f"ARRAY[5, 12, 13], 1, MAP['metric', '{metric}']))",
        )
        assert rows == approx([(best, score)])

    def test_values_and_a_condition(self, session: LocalSession) -> None:
        rows = found(
            session,
            "WITH near (k, w) AS (VALUES (1, ARRAY[CAST(0.0 AS DOUBLE), 1.0]), "
            "(2, ARRAY[CAST(1.0 AS DOUBLE), 0.0]), (3, ARRAY[CAST(0.0 AS DOUBLE), 0.0])) "
            "SELECT q.n, d.k, d.score FROM (VALUES (7, ARRAY[CAST(1.0 AS DOUBLE), 0.0])) AS q(n, w)"
            " LEFT JOIN LATERAL TABLE(VECTOR_SEARCH(TABLE near, DESCRIPTOR(w), q.w, 3)) AS d "
            "ON d.k > 1",
        )
        assert rows == [(7, 2, 1.0), (7, 3, 0.0)]

    def test_equal_scores_come_in_the_order_of_the_table(self) -> None:
        session = LocalSession(batch=True)
        values = ", ".join(f"({i}, ARRAY[CAST(1.0 AS DOUBLE)])" for i in range(20))
        session.execute(f"CREATE VIEW docs AS SELECT * FROM (VALUES {values}) AS t(id, v)")
        rows = session.query(f"SELECT id FROM {SEARCH.format('ARRAY[1]', 3)}").materialized()
        assert rows == [(0,), (1,), (2,)]

    def test_explain(self, session: LocalSession) -> None:
        from headrace.sql.plan.text import plan_text

        text = plan_text(session.plan(f"SELECT * FROM src, {SEARCH.format('src.v', 2)}"))
        assert (
            "VectorSearchTableFunction(invocation=[VECTOR_SEARCH(TABLE default_catalog."
            "default_database.docs, DESCRIPTOR(v), v, 2)], joinType=[INNER], select="
        ) in text


class Index(VectorSearchTableSource):
    """Finds the first documents, whatever is searched for."""

    vectors_per_call = 2
    calls: list[tuple[int, ...]] = []  # noqa: RUF012 - tests look at the calls of all subtasks

    def open(self, function_context: Any) -> None:
        self.rows = list(VECTORS.items())

    def search(self, vectors: np.ndarray[Any, Any], top_k: int) -> Any:
        Index.calls.append(vectors.shape)
        return [[(i, v, _cosine(v, q)) for i, v in self.rows[:top_k]] for q in vectors]


class AsyncIndex(Index):
    async def search(self, vectors: np.ndarray[Any, Any], top_k: int) -> Any:
        await asyncio.sleep(0)
        return super().search(vectors, top_k)


class Careless(Index):
    def search(self, vectors: np.ndarray[Any, Any], top_k: int) -> Any:
        return [[]] * 5


def with_source(source: Any, batch: bool = False) -> LocalSession:
    session = LocalSession(batch=batch)
    columns = Schema.new_builder().column("id", DataTypes.BIGINT())
    schema = columns.column("v", DataTypes.ARRAY(DataTypes.DOUBLE())).build()
    entry = TableDescriptor.for_connector("python").schema(schema).build().entry()
    entry = replace(entry, object=as_lookup_source(source))
    session.session.catalogs.create_table(("docs",), entry, temporary=True)
    values = ", ".join(f"({i}, ARRAY{list(v)})" for i, v in VECTORS.items())
    session.execute(f"CREATE VIEW src AS SELECT * FROM (VALUES {values}) AS t(id, v)")
    return session


class TestSources:
    @pytest.mark.parametrize("batch", [False, True])
    @pytest.mark.parametrize("source", [Index, AsyncIndex])
    def test_a_search_in_python(self, source: Any, batch: bool) -> None:
        Index.calls = []
        session = with_source(source, batch)
        query = f"SELECT s.id, d.id, d.score FROM src AS s, {SEARCH.format('s.v', 2)} AS d"
        wanted = [(i, j, _cosine(VECTORS[i], VECTORS[j])) for i in VECTORS for j in (1, 2)]
        assert found(session, query) == approx(wanted)
        assert sum(count for count, _ in Index.calls) == 3
        assert max(count for count, _ in Index.calls) <= 2

    def test_by_name(self) -> None:
        session = LocalSession(batch=True)
        session.execute(
            "CREATE TABLE docs (id BIGINT, v ARRAY<DOUBLE>) WITH ('connector' = 'python', "
            f"'search' = '{__name__}:Index')"
        )
        call = SEARCH.format("ARRAY[1, 2, 3]", 1)
        assert session.query(f"SELECT id FROM {call}").materialized() == [(1,)]
        with pytest.raises(SqlError, match="can only be searched, with VECTOR_SEARCH"):
            session.query("SELECT * FROM docs")

    def test_modes(self) -> None:
        call = "VECTOR_SEARCH(TABLE docs, DESCRIPTOR(v), ARRAY[1], 1, MAP['async', '{}'])"
        for source, mode in ((Index, "true"), (AsyncIndex, "false")):
            session = with_source(source)
            with pytest.raises(SqlError, match="but vector search provider default_catalog"):
                session.plan(f"SELECT * FROM TABLE({call.format(mode)})")

    def test_wrong_answers(self) -> None:
        session = with_source(Careless)
        with pytest.raises(JobExecutionError, match="vectors, not 5 answers"):
            session.query(f"SELECT * FROM src AS s, {SEARCH.format('s.v', 2)}")


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "place", "message"),
        [
            ("TABLE docs, DESCRIPTOR(id), s.v, 2", "id", "Expect search column `id` type is ARRAY"),
            ("TABLE docs, DESCRIPTOR(v, id), s.v, 2", "", "only contains one column"),
            ("TABLE docs, DESCRIPTOR(z), s.v, 2", "z", "Unknown identifier 'z'"),
            ("TABLE docs, v, s.v, 2", "v", "COLUMN_TO_SEARCH' of VECTOR_SEARCH must be a desc"),
            ("TABLE docs, DESCRIPTOR(v), s.id, 2", "s.id", "Can not cast the query column type"),
            ("TABLE docs, DESCRIPTOR(v), s.v, 2.0", "2.0", "top_k is an INTEGER NOT NULL literal"),
            ("TABLE docs, DESCRIPTOR(v), s.v, s.id", "s.id", "top_k is an INTEGER NOT NULL"),
            ("TABLE docs, DESCRIPTOR(v), s.v, 0", "0", "top_k must be greater than 0, but was 0"),
            ("TABLE docs, DESCRIPTOR(v), s.v", "VECTOR_SEARCH", "VECTOR_SEARCH needs TOP_K"),
            ("TABLE docs, DESCRIPTOR(v), s.v, 2, 3", "3", "Config param should be a MAP"),
            ("TABLE nope, DESCRIPTOR(v), s.v, 2", "nope", "Object 'nope' not found"),
            (
                "TABLE docs, DESCRIPTOR(v), s.v, 2, MAP['metric', 'x']",
                "VECTOR_SEARCH",
                "'metric' is one of cosine, dot, euclidean",
            ),
            (
                "TABLE docs, DESCRIPTOR(v), s.v, 2, MAP['async', 'true']",
                "VECTOR_SEARCH",
                "Require async mode",
            ),
            (
                "(SELECT * FROM docs WHERE id > 1), DESCRIPTOR(v), s.v, 2",
                "VECTOR_SEARCH",
                "does not support filter on parameter search_table",
            ),
            (
                "(SELECT DISTINCT * FROM docs), DESCRIPTOR(v), s.v, 2",
                "VECTOR_SEARCH",
                "does not support Aggregate node in parameter search_table",
            ),
            (
                "(SELECT ARRAY[CAST(id AS DOUBLE)] AS w FROM docs), DESCRIPTOR(w), s.v, 2",
                "w",
                "can not find column `w`",
            ),
            (
                "TABLE numbers, DESCRIPTOR(v), s.v, 2",
                "VECTOR_SEARCH",
                "VECTOR_SEARCH cannot search table .*numbers",
            ),
        ],
    )
    def test_calls(self, session: LocalSession, call: str, place: str, message: str) -> None:
        session.execute(
            "CREATE TABLE numbers (v ARRAY<FLOAT>) WITH ('connector' = 'datagen', "
            "'number-of-rows' = '1')"
        )
        with pytest.raises(SqlError, match=message) as error:
            session.plan(f"SELECT * FROM src AS s, LATERAL TABLE(VECTOR_SEARCH({call}))")
        assert place in place_of(error.value)

    def test_a_vector_of_another_length(self, session: LocalSession) -> None:
        with pytest.raises(JobExecutionError, match="have 3 elements, but one with 2 is searched"):
            session.query(f"SELECT * FROM {SEARCH.format('ARRAY[1, 2]', 1)}")

    def test_a_right_join_is_refused(self, session: LocalSession) -> None:
        with pytest.raises(SqlError, match="a lateral join is INNER or LEFT"):
            session.plan(f"SELECT * FROM src AS s RIGHT JOIN {SEARCH.format('s.v', 1)} ON TRUE")

    def test_changes_are_refused(self) -> None:
        session = with_source(Index)
        with pytest.raises(SqlError, match="StreamPhysicalVectorSearchTableFunction doesn't"):
            session.query(
                "SELECT * FROM (SELECT v, COUNT(*) FROM src GROUP BY v) AS s, "
                f"{SEARCH.format('s.v', 1)}"
            )
