"""Nodes of a plan, or parts of them, that run in Python inside of Spark's queries.

They are operators without state, those that would run in slots otherwise. Columns that they do not
look at are passed on in Arrow, and never become Python's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.common import options
from headrace.datastream.connectors.spark_query import PythonStep
from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.calc import calc_code
from headrace.sql.operators.specs import CalcSpec
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Field,
    Schema,
    columns_used,
    expression_text,
    is_deterministic,
)
from headrace.sql.segments.expressions import UnsupportedBySparkError, column_name, storage
from headrace.sql.segments.python_columns import JobFacts, OperatorColumns
from headrace.sql.translation.rows import OPERATORS

__all__ = ["PythonNodes"]

_DEPENDENCIES = (
    options.PYTHON_FILES,
    options.PYTHON_REQUIREMENTS,
    options.PYTHON_ARCHIVES,
    options.PYTHON_EXECUTABLE,
)
"""What slots are prepared for, and Spark's workers are not."""

_SHOWN = 300

Texts = Callable[[Expression], str | None]
"""Gives the text of an expression, or None if Python has to evaluate it."""


class PythonNodes:
    """Writes steps in Python for nodes.

    Attributes:
        needed: The columns of the next node that others look at; the others need not be passed on.
    """

    def __init__(self, settings: PlanSettings) -> None:
        self._settings = settings
        self.needed = frozenset[int]()
        configuration = settings.configuration
        parameters = configuration.get(options.GLOBAL_JOB_PARAMETERS)
        self.job = JobFacts(tuple(parameters.items()))
        self._prepared = not any(configuration.contains(o) for o in _DEPENDENCIES)

    def project(self, node: n.Project, below: str, texts: Sequence[str | None]) -> PythonStep:
        """A projection; texts are those of what Spark computes."""
        chosen = [e for e, text in zip(node.expressions, texts, strict=True) if text is None]
        code = calc_code((), chosen, zone=self._settings.zone)
        self._check(bool(code.functions))
        numbers = iter(range(len(chosen)))
        made = tuple(next(numbers) if text is None else None for text in texts)
        passed = [text for text in texts if text is not None]
        used = _used(chosen)
        return self._step(
            node, CalcSpec(code), passed, used, made, None, below, _shown(chosen, node)
        )

    def batched_calls(self, node: n.BatchedCalls, below: str, text: Texts) -> PythonStep:
        """Functions of many rows; those of columns get columns, if Spark computes arguments."""
        self._check(True, *node.calls)
        computed = _shown(node.calls, node)
        node, arguments = _with_arguments(node, text)
        spec = OPERATORS[n.BatchedCalls](node, self._settings).spec
        width, first = len(node.input.schema) - len(arguments), len(node.input.schema)
        used = _used([a for call in node.calls for a in call.args])
        calls = tuple(range(first, first + len(node.calls)))
        made = (*[None] * width, *calls)
        shown = replace(node, schema=_without(node.schema, range(width, first)))
        passed = [column_name(i) for i in range(width)]
        return self._step(shown, spec, passed, used, made, None, below, computed, arguments)

    def correlate(self, node: n.Correlate, below: str) -> PythonStep:
        """A table function, or UNNEST."""
        self._check(hasattr(node.function, "bound"), *node.arguments)
        if not getattr(node.function, "deterministic", True):
            raise UnsupportedBySparkError("a table function that is not deterministic")
        spec = OPERATORS[n.Correlate](node, self._settings).spec
        width = len(node.input.schema)
        conditions = [] if node.condition is None else [node.condition]
        used = [i for i in _used([*node.arguments, *conditions]) if i < width]
        other = [i for i in range(width) if i not in used]
        made = tuple(None if i in other else i for i in range(len(node.schema)))
        number = other[0] if other else None
        passed = [column_name(i) for i in other]
        call = f"{node.function.name}({', '.join(_shown(node.arguments, node))})"
        computed = (call, *(expression_text(e, node.schema.names) for e in conditions))
        return self._step(node, spec, passed, used, made, number, below, computed)

    def _check(self, functions: bool, *expressions: Expression) -> None:
        if functions and not self._prepared:
            raise UnsupportedBySparkError("functions that need what only slots have")
        if not all(map(is_deterministic, expressions)):
            raise UnsupportedBySparkError("what is not deterministic")

    def _step(
        self,
        node: n.Project | n.BatchedCalls | n.Correlate,
        spec: OperatorSpec,
        passed: Sequence[str],
        used: Sequence[int],
        made: tuple[int | None, ...],
        number: int | None,
        below: str,
        computed: tuple[str, ...],
        arguments: Sequence[str] = (),
    ) -> PythonStep:
        """What Spark passes on comes first, and then what operators look at."""
        inputs = node.input.schema
        kinds = [storage(x) for x in node.schema.types]
        known = [i for i, place in enumerate(made) if place is None]
        first = len(inputs) - len(arguments)
        more = {first + i: text for i, text in enumerate(arguments)}
        texts = [
            f"CAST({x if i in self.needed else 'NULL'} AS {kinds[i]})"
            for x, i in zip(passed, known, strict=True)
        ]
        texts += [f"CAST({more.get(i, column_name(i))} AS {storage(inputs[i].type)})" for i in used]
        if not texts or not inputs:
            raise UnsupportedBySparkError("rows without columns")
        listed = ", ".join(f"{text} AS {column_name(i)}" for i, text in enumerate(texts))
        names = tuple(map(column_name, range(len(kinds))))
        function = OperatorColumns(
            (spec,),
            len(inputs),
            tuple(used),
            made,
            tuple(node.schema.types),
            names,
            number,
            self.job,
            ", ".join(computed)[:_SHOWN],
            tuple(inputs[i].name for i in used),
        )
        columns = tuple(zip(names, kinds, strict=True))
        return PythonStep(f"SELECT {listed} FROM {below}", function, columns, computed)


def _used(expressions: Sequence[Expression]) -> list[int]:
    return sorted(set[int]().union(*map(columns_used, expressions)))


def _shown(expressions: Sequence[Expression], node: n.OneInput) -> tuple[str, ...]:
    return tuple(expression_text(e, node.input.schema.names) for e in expressions)


def _without(schema: Schema, dropped: range) -> Schema:
    return Schema(tuple(f for i, f in enumerate(schema) if i not in dropped))


def _with_arguments(node: n.BatchedCalls, text: Texts) -> tuple[n.BatchedCalls, list[str]]:
    """Arguments that Spark computes as further columns of the input, and their texts."""
    width = len(node.input.schema)
    places: dict[Expression, int] = {}
    texts: list[str] = []
    for argument in dict.fromkeys(a for call in node.calls for a in node.varying(call)):
        found = None if isinstance(argument, Column) else text(argument)
        if found is not None:
            places[argument] = width + len(texts)
            texts.append(found)
    if not texts:
        return node, []
    fields = [Field(f"$a{i}", a.type) for a, i in places.items()]
    below = n.Project(
        Schema((*node.input.schema, *fields)),
        node.input,
        (*node.input.schema.columns(), *places),
    )
    calls: list[Call] = [
        replace(
            call, args=tuple(Column(a.type, places[a]) if a in places else a for a in call.args)
        )
        for call in node.calls
    ]
    made = node.schema.fields[width:]
    return n.BatchedCalls(Schema((*below.schema, *made)), below, tuple(calls)), texts
