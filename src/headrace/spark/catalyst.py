"""Spark's expressions without Spark's jobs: their types, and their values for batches of Arrow.

A driver asks the session that it has. A slot has no Spark; it starts a JVM of its own with Spark's
jars, in which expressions are analysed and compiled as in any query, and evaluated batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.find_spark_home import _find_spark_home

from headrace.common.errors import SqlError
from headrace.spark.jvm import scala_object
from headrace.spark.query_feed import QUERY_SETTINGS, session_with
from headrace.spark.session import check_java

__all__ = ["ExpressionEvaluator", "expression_type"]

_ZONE = "spark.sql.session.timeZone"
_JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    # Arrow looks into Java's buffers.
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)

Columns = Sequence[tuple[str, str]]
"""Names, and types as Spark's SQL has them."""


def expression_type(text: str, columns: Columns, zone: str) -> Any:
    """The type of an expression, as `StructType.jsonValue()` has it.

    Raises:
        SqlError: Spark refuses the expression; this says why.
    """
    listed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns)
    below = f" FROM (SELECT {listed})" if listed else ""
    try:
        schema = session_with({_ZONE: zone}).sql(f"SELECT {text} AS value{below}").schema
    except AnalysisException as error:
        raise SqlError(_first_line(error.getMessage() or str(error))) from None
    return schema.jsonValue()["fields"][0]["type"]


class ExpressionEvaluator:
    """An expression of columns, compiled in this process's JVM.

    Args:
        text: The expression.
        columns: What it may name.
        zone: The session's time zone.
    """

    def __init__(self, text: str, columns: Columns, zone: str) -> None:
        self._zone = zone
        self._jvm = jvm = _jvm()
        catalyst = jvm.org.apache.spark.sql.catalyst
        settings = scala_object(jvm.org.apache.spark.sql.internal, "SQLConf").get()
        for name, value in {**QUERY_SETTINGS, _ZONE: zone}.items():
            settings.setConfString(name, value)
        parser = scala_object(catalyst.parser, "CatalystSqlParser")
        self._schema = parser.parseTableSchema(", ".join(f"{n} {kind}" for n, kind in columns))
        attributes = scala_object(catalyst.types, "DataTypeUtils").toAttributes(self._schema)
        rows = scala_object(catalyst.plans.logical, "LocalRelation").apply(attributes)
        values = self._sequence(parser.parseExpression(f"{text} AS value"))
        plan = catalyst.plans.logical.Project(values, rows)
        analyzer = scala_object(catalyst.analysis, "SimpleAnalyzer")
        plan = analyzer.execute(plan)
        analyzer.checkAnalysis(plan)
        plan = scala_object(catalyst.optimizer, "ReplaceExpressions").apply(plan)
        self._result = plan.schema()
        compiler = scala_object(catalyst.expressions, "UnsafeProjection")
        self._projection = compiler.create(plan.projectList(), attributes)
        self._converters = scala_object(jvm.org.apache.spark.sql.execution.arrow, "ArrowConverters")

    def _sequence(self, value: Any) -> Any:
        listed = self._jvm.java.util.ArrayList()
        listed.add(value)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(listed).toSeq()

    def values(self, batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        """The values, of that type, for the rows of a batch with the expression's columns."""
        given = self._sequence(batch.serialize().to_pybytes()).iterator()
        shape = (self._zone, True, False, None)
        try:
            rows = self._converters.fromBatchIterator(given, self._schema, *shape)
            found = self._converters.toBatchIterator(
                rows.map(self._projection), self._result, -1, *shape
            ).next()
        except Py4JJavaError as error:
            raise RuntimeError(_first_line(str(error.java_exception.getMessage()))) from None
        schema = pa.schema([pa.field("value", kind)])
        return pa.ipc.read_record_batch(pa.py_buffer(found), schema).column(0)


@cache
def _jvm() -> Any:
    """The JVM of this process. It ends when the pipe to it does, however this process ends."""
    jars = Path(_find_spark_home(), "jars")
    port, token = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=str(jars / "*"),
        javaopts=[*_JAVA_OPTIONS],
        java_path=check_java(),
        die_on_exit=True,
        enable_auth=True,
    )
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token)).jvm


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
