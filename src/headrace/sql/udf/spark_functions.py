"""Functions that Spark has: called in its queries where it runs them, and by slots elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.catalog.spark_types import spark_type, sql_type
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.plan.expressions import Call, Expression, Literal
from headrace.sql.segments.expressions import UnsupportedBySparkError, spark_text, storage
from headrace.sql.types import DataType
from headrace.sql.types.arrow import arrow_type_of
from headrace.sql.udf.batched import ArrowFunction
from headrace.sql.udf.binding import FunctionBinding
from headrace.sql.udf.user_defined import UserDefinedFunction

if TYPE_CHECKING:
    from headrace.sql.udf.function_context import FunctionContext

__all__ = ["SparkFunction"]


_WRITTEN = (t.NullType, t.BooleanType, t.IntegralType, t.DecimalType, t.CharType, t.VarCharType)


class SparkFunction:
    """A scalar function of Spark by its name; Spark says what it takes and gives."""

    kind = FunctionKind.SCALAR

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, arguments: Sequence[Expression], zone: str) -> Call:
        """A call, with constants as part of its text: some functions want them to be.

        Raises:
            TypeError: The function does not take such arguments.
        """
        parts = [_constant(a) for a in arguments]
        given = [a for a, part in zip(arguments, parts, strict=True) if part is None]
        function = SparkExpression(self.name, parts, [a.type for a in given], zone)
        try:
            result = function.result_type()
        except SqlError as error:
            shown = ", ".join(a.type.sql_text() for a in arguments)
            raise TypeError(
                f"Cannot apply Hive's function {self.name} to arguments of type ({shown}): {error}"
            ) from None
        return Call(result, _SparkBinding(function, result), tuple(given))


class SparkExpression(UserDefinedFunction):
    """An expression of Spark for slots: it takes columns of Arrow, and gives one.

    Args:
        name: The function.
        parts: Its arguments: texts of constants, and None where a column is.
        types: The types of the columns.
        zone: The session's time zone.
    """

    def __init__(
        self, name: str, parts: Sequence[str | None], types: Sequence[DataType], zone: str
    ) -> None:
        self.name = name
        self.zone = zone
        self._parts = parts
        self._types = types
        self._evaluator: Any = None

    def text(self, columns: Sequence[str]) -> str:
        """The call, of columns or other texts."""
        left = iter(columns)
        listed = (next(left) if part is None else part for part in self._parts)
        return f"{self.name}({', '.join(listed)})"

    def _columns(self) -> list[tuple[str, str]]:
        return [(f"a{i}", spark_type(x)) for i, x in enumerate(self._types)]

    def result_type(self) -> DataType:
        """The type that Spark says; it may be NULL whatever the arguments are."""
        from headrace.spark.catalyst import expression_type

        columns = self._columns()
        text = self.text([name for name, _ in columns])
        return sql_type(expression_type(text, columns, self.zone), True, self.name)

    def open(self, function_context: FunctionContext) -> None:
        """Compiles the expression, in a JVM that the slot has for all of them."""
        from headrace.spark.catalyst import ExpressionEvaluator

        # A batch without columns would have no rows.
        columns = self._columns() or [("nothing", "INT")]
        names = [name for name, _ in columns]
        self._evaluator = ExpressionEvaluator(self.text(names), columns, self.zone)

    def eval(self, count: int, arrays: Sequence[Any], result: DataType) -> Any:
        """The column of results."""
        import pyarrow as pa

        kinds = [_arrow_type(x, self.zone) for x in self._types]
        given = [a.cast(kind, safe=False) for a, kind in zip(arrays, kinds, strict=True)]
        given = given or [pa.nulls(count, pa.int32())]
        batch = pa.RecordBatch.from_arrays(given, [f"a{i}" for i in range(len(given))])
        return self._evaluator.values(batch, _arrow_type(result, self.zone))

    def close(self) -> None:
        """The JVM stays, as long as the process does."""
        self._evaluator = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_evaluator"}


class _SparkBinding(FunctionBinding):
    """A call of one of Spark's functions."""

    def __init__(self, function: SparkExpression, result: DataType) -> None:
        super().__init__(function, function.name, "SCALAR", None, result, None, "arrow", True)

    def batch_bound(
        self, types: tuple[DataType, ...], result: DataType, settings: Any, constants: Any = ()
    ) -> Any:
        """The function for slots."""
        return _SparkColumns(self, types, result, settings.zone)

    def spark_text(self, e: Call) -> str:
        """The call in Spark's queries, whose columns hold internal values.

        Raises:
            UnsupportedBySparkError: A type is none that queries have, or times are in another zone.
        """
        if self.function.zone != "UTC":
            raise UnsupportedBySparkError("a function that may look at the session's time zone")
        return _stored(self.function.text([_unstored(a) for a in e.args]), e.type)


class _SparkColumns(ArrowFunction):
    """A function of Spark on internal values."""

    _aware = True

    def batch(self, rows: Any) -> list[Any]:
        self._count = len(rows)
        return super().batch(rows)

    def columns(self, arguments: list[Any]) -> Any:
        self._count = len(arguments[0])
        return super().columns(arguments)

    def _arrays(self, rows: Any) -> list[Any]:
        return super()._arrays(rows) if self._types else []

    def _called(self, arrays: list[Any]) -> Any:
        return self._eval(self._count, arrays, self._result)


def _constant(e: Expression) -> str | None:
    """The text of a constant, if its internal value is Spark's own; None: it is a column."""
    return spark_text(e) if isinstance(e, Literal) and isinstance(e.type, _WRITTEN) else None


def _arrow_type(type_: DataType, zone: str) -> Any:
    """What Spark takes and gives: microseconds, and a zone where there is an instant."""
    import pyarrow as pa

    if isinstance(type_, t.LocalZonedTimestampType):
        return pa.timestamp("us", zone)
    if isinstance(type_, t.TimestampType):
        return pa.timestamp("us")
    if isinstance(type_, t.ArrayType):
        return pa.list_(_arrow_type(type_.element_type, zone))
    if isinstance(type_, t.MapType):
        return pa.map_(_arrow_type(type_.key_type, zone), _arrow_type(type_.value_type, zone))
    if isinstance(type_, t.RowType):
        return pa.struct([(f.name, _arrow_type(f.data_type, zone)) for f in type_.fields])
    if isinstance(type_, t.BinaryType):
        return pa.binary()
    return arrow_type_of(type_)


_TAKEN: dict[type[DataType], str] = {
    t.DateType: "date_from_unix_date({})",
    t.TimestampType: "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)",
    t.LocalZonedTimestampType: "timestamp_micros({})",
}
_GIVEN: dict[type[DataType], str] = {
    t.DateType: "unix_date({})",
    t.TimestampType: "unix_micros(CAST({} AS TIMESTAMP))",
    t.LocalZonedTimestampType: "unix_micros({})",
}


def _unstored(e: Expression) -> str:
    """An argument as Spark's functions take it, where the session's zone is UTC."""
    return _TAKEN.get(type(e.type), "{}").format(spark_text(e))


def _stored(text: str, type_: DataType) -> str:
    """The internal value of a result."""
    storage(type_)
    return _GIVEN.get(type(type_), "{}").format(text)
