"""Models in SQL: CREATE MODEL, ML_PREDICT and ML_EVALUATE, with models in Python."""

from __future__ import annotations

import asyncio
from typing import Any

import pandas as pd
import pytest

from headrace.common.errors import JobExecutionError, SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.types.data_types import DataTypes
from headrace.table import ModelDescriptor, PredictFunction, Schema, StreamTableEnvironment
from headrace.util.exceptions import ModelAlreadyExistException, ModelNotExistException
from tests.sql.sessions import LocalSession, place_of, rows_of, with_tables

PEOPLE = """CREATE VIEW people AS SELECT * FROM (VALUES
  (1, 'ada', 36), (2, 'bob', 7), (3, CAST(NULL AS STRING), 9)) AS t(id, name, age)"""


class Lengths(PredictFunction):
    """Notes its batches, and what it was opened with."""

    batches: list[int] = []  # noqa: RUF012 - tests look at what all subtasks did
    events: list[str] = []  # noqa: RUF012
    rows_per_call = 2

    def open(self, function_context: Any) -> None:
        Lengths.events.append(f"open {function_context.get_option('path')}")

    def predict(self, batch: pd.DataFrame) -> Any:
        Lengths.batches.append(len(batch))
        return batch["text"].str.len()

    def close(self) -> None:
        Lengths.events.append("close")


class Async(PredictFunction):
    """As many calls as rows, and how many of them ran at the same time."""

    rows_per_call = 1
    running = most = 0

    async def predict(self, batch: pd.DataFrame) -> Any:
        Async.running += 1
        Async.most = max(Async.most, Async.running)
        for _ in range(20):
            await asyncio.sleep(0)
        Async.running -= 1
        return [str(v).upper() for v in batch["text"]]


class Never(PredictFunction):
    """Does not answer."""

    async def predict(self, batch: pd.DataFrame) -> Any:
        await asyncio.Event().wait()


def frame(batch: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"b": batch["x"] * 2, "a": batch["x"].astype(str)})


def array(batch: pd.DataFrame) -> Any:
    return batch[["x", "x"]].to_numpy(dtype=float)


def rows(batch: pd.DataFrame) -> Any:
    return [(f"<{x}>", x) for x in batch["x"]]


def vectors(batch: pd.DataFrame) -> Any:
    return [[float(len(t or "")), 1.0] for t in batch["text"]]


def parity(batch: pd.DataFrame) -> Any:
    return batch["x"] % 2 == 0


def identity(batch: pd.DataFrame) -> Any:
    return batch["x"]


def too_few(batch: pd.DataFrame) -> Any:
    return [1]


def scalar(batch: pd.DataFrame) -> Any:
    return 5


def failing(batch: pd.DataFrame) -> Any:
    raise ValueError("no model today")


NOT_A_MODEL = 5


@pytest.fixture(params=[False, True], ids=["streaming", "batch"])
def session(request: pytest.FixtureRequest) -> LocalSession:
    made = LocalSession(batch=request.param)
    made.execute(PEOPLE)
    Lengths.batches, Lengths.events, Async.most = [], [], 0
    return made


def model(
    session: LocalSession,
    predict: str,
    inputs: str = "text STRING",
    outputs: str = "size INT",
    name: str = "m",
) -> None:
    session.execute(
        f"CREATE MODEL {name} INPUT ({inputs}) OUTPUT ({outputs}) "
        f"WITH ('provider' = 'python', 'predict' = '{__name__}:{predict}', 'path' = 'x.bin')"
    )


def results(session: LocalSession, query: str, **settings: Any) -> list[Any]:
    return sorted(session.query(query, **settings).materialized(), key=str)


PREDICT = "SELECT * FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR({}))"


class TestPredicting:
    def test_rows_get_the_output_columns(self, session: LocalSession) -> None:
        model(session, "Lengths")
        found = results(session, PREDICT.format("name"))
        assert found == [(1, "ada", 36, 3), (2, "bob", 7, 3), (3, None, 9, None)]
        assert sum(Lengths.batches) == 3
        assert max(Lengths.batches) <= 2
        assert Lengths.events == ["open x.bin", "close"]

    def test_named_arguments_and_a_query(self, session: LocalSession) -> None:
        model(session, "Lengths")
        found = results(
            session,
            "SELECT size, n FROM TABLE(ML_PREDICT(ARGS => DESCRIPTOR(n), MODEL => MODEL m, "
            "INPUT => (SELECT name AS n FROM people WHERE id < 3), CONFIG => MAP['x', 'y']))",
        )
        assert found == [(3, "ada"), (3, "bob")]

    def test_a_name_that_is_taken_gets_a_number(self, session: LocalSession) -> None:
        model(session, "Lengths", outputs="age INT")
        plan = session.plan(PREDICT.format("name"))
        assert plan.schema.names == ["id", "name", "age", "age0"]

    def test_it_can_stand_beside_another_table(self, session: LocalSession) -> None:
        model(session, "Lengths")
        found = results(
            session,
            "SELECT p.id, q.id, q.size FROM people AS p, "
            "LATERAL TABLE(ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(name))) AS q "
            "WHERE p.id = 1 AND q.id > 1",
        )
        assert found == [(1, 2, 3), (1, 3, None)]

    def test_a_coroutine_runs_several_calls_at_once(self, session: LocalSession) -> None:
        model(session, "Async", outputs="loud STRING")
        query = (
            "SELECT loud FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(name), "
            "MAP['async', 'true', 'max-concurrent-operations', '2'])"
        )
        assert results(session, query) == [("ADA",), ("BOB",), ("NONE",)]
        assert Async.most == 2

    def test_a_call_that_takes_too_long_fails(self, session: LocalSession) -> None:
        model(session, "Never")
        query = (
            "SELECT * FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(name), "
            "MAP['timeout', '1 ms'])"
        )
        with pytest.raises(JobExecutionError, match="no answer within 1 ms"):
            session.query(query)

    @pytest.mark.parametrize("predict", ["frame", "rows"])
    def test_several_columns(self, session: LocalSession, predict: str) -> None:
        model(session, predict, "x BIGINT", "a STRING, b BIGINT")
        found = results(
            session, "SELECT a, b FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(age))"
        )
        wanted = {"frame": [("36", 72), ("7", 14), ("9", 18)]}
        assert found == wanted.get(predict, [("<36>", 36), ("<7>", 7), ("<9>", 9)])

    def test_a_numpy_array(self, session: LocalSession) -> None:
        model(session, "array", "x INT", "a DOUBLE, b DOUBLE")
        query = "SELECT a, b FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(age)) WHERE id = 1"
        assert results(session, query) == [(36.0, 36.0)]

    def test_vectors(self, session: LocalSession) -> None:
        model(session, "vectors", outputs="v ARRAY<FLOAT>")
        query = "SELECT v FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(name)) WHERE id = 1"
        assert results(session, query) == [((3.0, 1.0),)]

    @pytest.mark.parametrize(
        ("predict", "message"),
        [
            ("too_few", "returned 1 results for"),
            ("scalar", "must return a DataFrame, a Series, an array or a list"),
            ("failing", "no model today"),
        ],
    )
    def test_wrong_results(self, session: LocalSession, predict: str, message: str) -> None:
        model(session, predict)
        with pytest.raises(JobExecutionError, match=message):
            session.query(PREDICT.format("name"))

    def test_a_view_keeps_its_prediction(self, session: LocalSession) -> None:
        model(session, "Lengths")
        session.execute(f"CREATE VIEW sizes AS {PREDICT.format('name')}")
        assert results(session, "SELECT size FROM sizes WHERE id = 2") == [(3,)]

    @pytest.mark.parametrize("batch", [False, True])
    def test_a_window_may_follow(self, batch: bool) -> None:
        """Time attributes stay, as in Flink."""
        session = with_tables(batch=batch, parallelism=2)
        model(session, "Lengths")
        session.execute(
            "CREATE VIEW sizes AS SELECT * FROM ML_PREDICT(TABLE orders, MODEL m, DESCRIPTOR(item))"
        )
        query = (
            "SELECT window_end, {} FROM TUMBLE(TABLE {}, DESCRIPTOR(et), INTERVAL '1' HOUR) "
            "GROUP BY window_start, window_end"
        )
        predicted = results(session, query.format("SUM(size)", "sizes"))
        assert predicted == results(session, query.format("SUM(CHAR_LENGTH(item))", "orders"))
        assert predicted

    def test_explain(self, session: LocalSession) -> None:
        from headrace.sql.plan.text import plan_text

        model(session, "Lengths")
        text = plan_text(session.plan(PREDICT.format("name")))
        assert (
            "MLPredictTableFunction(invocation=[ML_PREDICT(MODEL default_catalog.default_database.m"
            ", name)], joinType=[INNER], select=[id, name, age, size])"
        ) in text


class TestEvaluating:
    def evaluated(self, session: LocalSession, label: str, args: str, task: str, more: str) -> Any:
        query = (
            f"SELECT * FROM ML_EVALUATE(TABLE people, MODEL m, DESCRIPTOR({label}), "
            f"DESCRIPTOR({args}), '{task}'{more})"
        )
        ((found,),) = session.query(query).materialized()
        return dict(found)

    def test_classification(self, session: LocalSession) -> None:
        model(session, "parity", "x INT", "even BOOLEAN")
        session.execute("CREATE VIEW labelled AS SELECT age, id < 3 AS even FROM people")
        query = (
            "SELECT * FROM TABLE(ML_EVALUATE(INPUT => TABLE labelled, MODEL => MODEL m, "
            "LABEL => DESCRIPTOR(even), ARGS => DESCRIPTOR(age), TASK => 'classification'))"
        )
        ((found,),) = session.query(query).materialized()
        # Labels are true, true, false; predictions are true, false, false.
        assert dict(found) == {
            "accuracy": pytest.approx(2 / 3),
            "precision": pytest.approx(3 / 4),
            "recall": pytest.approx(3 / 4),
            "f1": pytest.approx(2 / 3),
        }

    def test_regression(self, session: LocalSession) -> None:
        model(session, "identity", "x INT", "y DOUBLE")
        found = self.evaluated(session, "age", "id", "regression", "")
        errors = [35, 5, 6]
        assert found["mae"] == pytest.approx(sum(errors) / 3)
        assert found["mse"] == pytest.approx(sum(e * e for e in errors) / 3)
        assert found["rmse"] == pytest.approx(found["mse"] ** 0.5)
        mean = (36 + 7 + 9) / 3
        spread = sum((y - mean) ** 2 for y in (36, 7, 9))
        assert found["r2"] == pytest.approx(1 - sum(e * e for e in errors) / spread)

    def test_chosen_metrics_of_texts(self, session: LocalSession) -> None:
        model(session, "Async", outputs="loud STRING")
        more = ", MAP['metrics', 'exact_match']"
        assert self.evaluated(session, "name", "name", "text_generation", more) == {
            "exact_match": 0.0
        }
        assert self.evaluated(session, "name", "name", "text_generation", "") == {
            "exact_match": 0.0,
            "rouge1_f1": 1.0,
        }

    def test_clusters_and_embeddings(self, session: LocalSession) -> None:
        model(session, "identity", "x INT", "y INT")
        assert self.evaluated(session, "age", "id", "clustering", "") == {
            "purity": 1.0,
            "adjusted_rand_index": 1.0,
        }
        model(session, "vectors", outputs="v ARRAY<FLOAT>", name="e")
        session.execute("CREATE VIEW near AS SELECT name, ARRAY[3.0, 5.0] AS v FROM people")
        query = (
            "SELECT * FROM ML_EVALUATE(TABLE near, MODEL e, DESCRIPTOR(v), DESCRIPTOR(name), "
            "'embedding', MAP['metrics', 'mean_euclidean_distance'])"
        )
        ((found,),) = session.query(query).materialized()
        assert dict(found) == {"mean_euclidean_distance": pytest.approx((4 + 4 + 5) / 3)}

    @pytest.mark.parametrize(
        ("call", "place", "message"),
        [
            ("DESCRIPTOR(age), DESCRIPTOR(id), 'foo'", "'foo'", "Unsupported task: foo"),
            ("DESCRIPTOR(age), DESCRIPTOR(id), 1", "1", "Expected a valid task string literal"),
            ("DESCRIPTOR(age, id), DESCRIPTOR(id), 'regression'", "", "exactly one column"),
            ("DESCRIPTOR(name), DESCRIPTOR(id), 'regression'", "name", "cannot be assigned to"),
            ("DESCRIPTOR(age), DESCRIPTOR(id), 'embedding'", "'embedding'", "is about arrays"),
            (
                "DESCRIPTOR(age), DESCRIPTOR(id), 'regression', MAP['metrics', 'f1']",
                "'regression'",
                "REGRESSION has no metric 'f1'",
            ),
        ],
    )
    def test_errors(self, session: LocalSession, call: str, place: str, message: str) -> None:
        model(session, "identity", "x INT", "y DOUBLE")
        with pytest.raises(SqlError, match=message) as error:
            session.plan(f"SELECT * FROM ML_EVALUATE(TABLE people, MODEL m, {call})")
        assert place in place_of(error.value)


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "place", "message"),
        [
            ("MODEL n, DESCRIPTOR(name)", "n", "Object 'n' not found"),
            ("name, DESCRIPTOR(name)", "name", "Argument 'MODEL' expects a model"),
            ("MODEL m, DESCRIPTOR(nam)", "nam", "Descriptor column 'nam' not found in table"),
            ("MODEL m, DESCRIPTOR(people.name)", "", "a descriptor with simple column names"),
            ("MODEL m, name", "name", "a descriptor with simple column names"),
            ("MODEL m, DESCRIPTOR(id)", "id", "'id' type INT NOT NULL cannot be assigned to"),
            (
                "MODEL m, DESCRIPTOR(id, name)",
                "ML_PREDICT",
                r"Number of descriptor columns \(2\) does not match model input size \(1\)",
            ),
            ("MODEL m", "ML_PREDICT", "ML_PREDICT needs ARGS"),
            ("MODEL m, DESCRIPTOR(name), 5", "5", "Config param should be a MAP"),
            ("MODEL m, DESCRIPTOR(name), MAP['async', TRUE]", "", "consisting of String literals"),
            ("MODEL m, DESCRIPTOR(name), MAP['async', 'yes']", "", "Failed to parse the config"),
            (
                "MODEL m, DESCRIPTOR(name), MAP['max-concurrent-operations', '-1']",
                "ML_PREDICT",
                "should be positive integer but was -1",
            ),
            (
                "MODEL m, DESCRIPTOR(name), MAP['async', 'true']",
                "ML_PREDICT",
                "Require async mode, but model provider .*Lengths doesn't support async mode",
            ),
        ],
    )
    def test_calls(self, session: LocalSession, call: str, place: str, message: str) -> None:
        model(session, "Lengths")
        with pytest.raises(SqlError, match=message) as error:
            session.plan(f"SELECT * FROM ML_PREDICT(TABLE people, {call})")
        assert place in place_of(error.value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("'x' = 'y'", "do not contain an option key 'provider'"),
            ("'provider' = 'pyton'", "identifier 'pyton', did you mean 'python'?"),
            ("'provider' = 'python'", "required options are missing(.|\n)*predict"),
            ("'provider' = 'python', 'predict' = 'nope:x'", "'nope:x' cannot be loaded"),
            (f"'provider' = 'python', 'predict' = '{__name__}:NOT_A_MODEL'", "method predict"),
        ],
    )
    def test_providers(self, session: LocalSession, options: str, message: str) -> None:
        session.execute(f"CREATE MODEL m INPUT (text STRING) OUTPUT (size INT) WITH ({options})")
        with pytest.raises(SqlError, match="Unable to create a model provider for model") as error:
            session.plan(PREDICT.format("name"))
        assert error.match(message)
        assert "ML_PREDICT" in place_of(error.value)

    def test_changes_are_refused(self) -> None:
        session = LocalSession()
        session.execute(PEOPLE)
        model(session, "Lengths")
        with pytest.raises(SqlError, match="StreamPhysicalMLPredictTableFunction doesn't support"):
            session.query(
                "SELECT * FROM ML_PREDICT((SELECT name, COUNT(*) AS c FROM people GROUP BY name), "
                "MODEL m, DESCRIPTOR(name))"
            )

    def test_a_partition_is_refused(self, session: LocalSession) -> None:
        model(session, "Lengths")
        with pytest.raises(SqlError, match="Only tables with set semantics may be partitioned"):
            session.plan(
                "SELECT * FROM ML_PREDICT(TABLE people PARTITION BY id, MODEL m, DESCRIPTOR(name))"
            )


class TestStatements:
    def shown(self, session: LocalSession, text: str) -> list[Any]:
        return [tuple(row) for _, row in session.executor.execute(text).rows()]

    def test_a_model_through_its_life(self) -> None:
        session = LocalSession()
        session.execute(
            "CREATE MODEL m INPUT (a INT, b BIGINT NOT NULL) OUTPUT (e STRING COMMENT 'out', "
            "f ARRAY<INT>) COMMENT 'a model' WITH ('provider'='openai', 'api-key'='k')"
        )
        session.execute("CREATE MODEL IF NOT EXISTS m INPUT (a INT) OUTPUT (b INT) WITH ('p'='q')")
        assert self.shown(session, "DESCRIBE MODEL m") == [
            ("a", "INT", True, True, None),
            ("b", "BIGINT", False, True, None),
            ("e", "STRING", True, False, "out"),
            ("f", "ARRAY<INT>", True, False, None),
        ]
        session.execute("ALTER MODEL m SET ('a' = 'b', 'task' = 'x')")
        session.execute("ALTER MODEL m RESET ('task', 'unknown')")
        session.execute("ALTER MODEL m RENAME TO n")
        assert self.shown(session, "SHOW CREATE MODEL n") == [
            (
                "CREATE MODEL `default_catalog`.`default_database`.`n`\n"
                "INPUT (`a` INT, `b` BIGINT NOT NULL)\n"
                "OUTPUT (`e` VARCHAR(2147483647) COMMENT 'out', `f` ARRAY<INT>)\n"
                "COMMENT 'a model'\n"
                "WITH (\n  'a' = 'b',\n  'api-key' = '******',\n  'provider' = 'openai'\n)\n",
            )
        ]
        session.execute("CREATE TEMPORARY MODEL t WITH ('provider' = 'x')")
        assert self.shown(session, "DESC MODEL t") == []
        assert self.shown(session, "SHOW CREATE MODEL t") == [
            (
                "CREATE TEMPORARY MODEL `default_catalog`.`default_database`.`t`\n"
                "WITH (\n  'provider' = 'x'\n)\n",
            )
        ]
        assert self.shown(session, "SHOW MODELS") == [("n",), ("t",)]
        assert self.shown(session, "SHOW MODELS LIKE 'n%'") == [("n",)]
        session.execute("DROP TEMPORARY MODEL t")
        session.execute("DROP MODEL n")
        session.execute("DROP MODEL IF EXISTS n")
        session.execute("ALTER MODEL IF EXISTS n SET ('a' = 'b')")
        assert self.shown(session, "SHOW MODELS") == []

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("CREATE MODEL x INPUT (a INT) OUTPUT (b INT)", "property list can not be empty"),
            ("CREATE MODEL x INPUT (a INT) WITH ('p'='q')", "Output column list can not be empty"),
            ("CREATE MODEL x OUTPUT (a INT) WITH ('p'='q')", "Input column list can not be empty"),
            (
                "CREATE MODEL x INPUT (a INT, a INT) OUTPUT (b INT) WITH ('p'='q')",
                "Duplicate input column name: 'a'",
            ),
            (
                "CREATE MODEL x INPUT (a AS 1) OUTPUT (b INT) WITH ('p'='q')",
                "Column 'a' of a model cannot be computed",
            ),
            ("CREATE TEMPORARY MODEL t WITH ('p'='q')", "Temporary model .* already exists"),
            ("DESCRIBE MODEL mm", "the identifier .*mm' doesn't exist, did you mean 'm'"),
            ("SHOW CREATE MODEL y", "Could not execute SHOW CREATE MODEL. Model with identifier"),
            ("ALTER MODEL y SET ('a' = 'b')", "Model .*`y` doesn't exist"),
            ("ALTER MODEL m SET ()", "ALTER MODEL SET does not support empty option"),
            ("ALTER MODEL m RESET ()", "ALTER MODEL RESET does not support empty key"),
            ("ALTER MODEL t SET ('a' = 'b')", "`t` is a temporary model"),
            ("ALTER MODEL m ADD (a INT)", "changed with SET, RESET or RENAME TO"),
            ("DROP TEMPORARY MODEL y", "Temporary model with identifier '.*y' does not exist"),
            ("SHOW MODELS FROM nodb", "Database nodb does not exist"),
        ],
    )
    def test_refused(self, statement: str, message: str) -> None:
        session = LocalSession()
        session.execute("CREATE MODEL m WITH ('provider' = 'x')")
        session.execute("CREATE TEMPORARY MODEL t WITH ('provider' = 'x')")
        with pytest.raises(SqlError, match=message):
            session.execute(statement)

    def test_names_that_are_there_or_not(self) -> None:
        session = LocalSession()
        session.execute("CREATE MODEL m WITH ('provider' = 'x')")
        session.execute("CREATE MODEL n WITH ('provider' = 'x')")
        for statement in ("CREATE MODEL m WITH ('p' = 'q')", "ALTER MODEL n RENAME TO m"):
            with pytest.raises(ModelAlreadyExistException, match=r"default_database\.m already"):
                session.execute(statement)
        with pytest.raises(ModelNotExistException, match=r"'.*x' does not exist"):
            session.execute("DROP MODEL x")


TEXTS = Schema.new_builder().column("text", DataTypes.STRING()).build()
SIZES = Schema.new_builder().column("size", DataTypes.INT()).build()


class TestTableApi:
    def environment(self) -> StreamTableEnvironment:
        t_env = StreamTableEnvironment.create(
            StreamExecutionEnvironment.get_execution_environment()
        )
        t_env.get_config().set("table.exec.spark-segments", "false")
        return t_env

    @pytest.mark.parametrize("given", [Lengths, Lengths()], ids=["class", "object"])
    def test_a_python_object_is_a_model(self, given: Any) -> None:
        t_env = self.environment()
        descriptor = (
            ModelDescriptor.for_provider(given).input_schema(TEXTS).output_schema(SIZES).build()
        )
        t_env.create_temporary_model("m", descriptor)
        people = t_env.from_elements([("ada",), ("x",)], ["name"])
        for found in (t_env.from_model("m"), t_env.from_model(descriptor)):
            assert found.get_resolved_input_schema().get_column_names() == ["text"]
            assert found.get_resolved_output_schema().get_column_names() == ["size"]
            assert rows_of(t_env, found.predict(people, ["name"])) == [["ada", 3], ["x", 1]]
        t_env.create_temporary_view("people", people)
        asked = t_env.sql_query(
            "SELECT size FROM ML_PREDICT(TABLE people, MODEL m, DESCRIPTOR(name))"
        )
        assert rows_of(t_env, asked) == [[1], [3]]

    def test_errors(self) -> None:
        t_env = self.environment()
        people = t_env.from_elements([("ada",)], ["name"])
        half = ModelDescriptor.for_provider(Lengths).input_schema(TEXTS)
        descriptor = ModelDescriptor.for_provider(Lengths).input_schema(TEXTS)
        found = t_env.from_model(descriptor.output_schema(SIZES).build())
        with pytest.raises(SqlError, match="Descriptor column 'nam' not found"):
            found.predict(people, ["nam"])
        with pytest.raises(SqlError, match="Require async mode"):
            found.predict(people, ["name"], {"async": "true"})
        with pytest.raises(SqlError, match="Model `m` was not found"):
            t_env.from_model("m")
        with pytest.raises(SqlError, match="Output column list can not be empty"):
            t_env.create_model("m", half.build())
