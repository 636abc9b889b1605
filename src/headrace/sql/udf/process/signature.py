"""What `eval` and `on_timer` of a process table function declare."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args, get_origin, get_type_hints

from headrace.common.errors import FunctionTypeError
from headrace.common.settings.types import DURATION
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.udf.annotations import annotated, data_type_of, declared_type
from headrace.sql.udf.data_views import ListView, MapView
from headrace.sql.udf.process.context import Context
from headrace.sql.udf.process.hints import ArgumentHint, ArgumentTrait, StateHint

__all__ = ["Argument", "Signature", "StateEntry"]

_SEMANTICS = (ArgumentTrait.ROW_SEMANTIC_TABLE, ArgumentTrait.SET_SEMANTIC_TABLE)
_SYSTEM_ARGUMENTS = ("on_time", "uid")


@dataclass(frozen=True)
class StateEntry:
    """State of each key: a row, a list or a map; `make` makes the user's object of a row."""

    name: str
    type: DataType
    ttl_ms: int | None
    make: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Argument:
    """An argument of a call; without a type a table may have any columns."""

    name: str
    traits: frozenset[ArgumentTrait]
    type: DataType | None
    optional: bool
    default: Any
    make: Callable[..., Any] | None = None

    @property
    def is_table(self) -> bool:
        return not self.traits.isdisjoint(_SEMANTICS)

    @property
    def is_set(self) -> bool:
        return ArgumentTrait.SET_SEMANTIC_TABLE in self.traits


class Signature:
    """The parameters of `eval` and `on_timer`, read once and checked."""

    def __init__(self, function: Any) -> None:
        self._name = type(function).__name__
        parameters = self._parameters(function.eval)
        self.takes_context = bool(parameters) and _is_context(parameters[0][0])
        entries = parameters[1:] if self.takes_context else parameters
        states = [(p, a, h) for p, a, hints in entries for h in hints if isinstance(h, StateHint)]
        self.states = tuple(self._state(*entry) for entry in states)
        rest = entries[len(states) :]
        if any(isinstance(h, StateHint) for _, _, hints in rest for h in hints):
            raise self._error("state must come before the arguments of eval()")
        self.arguments = tuple(self._argument(*entry) for entry in rest)
        self._check()
        self.timer_context, self.timer_states = self._of_timer(function)

    def result_type(self, function: Any) -> DataType:
        """The type of what is emitted."""
        declared = function.get_result_type()
        if declared is not None:
            return declared_type(declared)
        hints = get_type_hints(function.eval, localns=vars(type(function)), include_extras=True)
        returned = hints.get("return")
        if get_origin(returned) in (Iterator, Iterable, Generator, list) and get_args(returned):
            return data_type_of(get_args(returned)[0], f"the result of function {self._name}")
        raise self._error(
            "the type of its rows is not known: override get_result_type(), or annotate eval() "
            "with the type that it yields, as in -> Iterator[str]"
        )

    def _parameters(self, method: Any) -> list[tuple[inspect.Parameter, Any, tuple[Any, ...]]]:
        hints = get_type_hints(method, localns=vars(type(method.__self__)), include_extras=True)
        found = []
        for parameter in inspect.signature(method).parameters.values():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise self._error(
                    f"{method.__name__}() has the parameter {parameter}: its parameters have names "
                    "and positions, since a call may use either"
                )
            annotation, said = annotated(hints.get(parameter.name, parameter.empty))
            found.append((parameter.replace(annotation=annotation), annotation, said))
        return found

    def _state(self, parameter: inspect.Parameter, annotation: Any, hint: StateHint) -> StateEntry:
        ttl_ms = None if hint.ttl is None else _millis(hint.ttl)
        name, view = parameter.name, get_origin(annotation) or annotation
        what = f"state {name!r} of function {self._name}"
        if hint.type is not None:
            type_ = declared_type(hint.type)
        elif view is ListView and get_args(annotation):
            type_ = t.ArrayType(data_type_of(get_args(annotation)[0], what))
        elif view is MapView and get_args(annotation):
            key, value = (data_type_of(x, what) for x in get_args(annotation))
            type_ = t.MapType(key, value)
        else:
            type_ = data_type_of(annotation, what)
        wanted = {ListView: t.ArrayType, MapView: t.MapType}.get(view, t.RowType)
        if not isinstance(type_, wanted):
            raise self._error(
                f"state {name!r} is {type_.sql_text()}: state is a dataclass, a Row with the type "
                "ROW<...>, a ListView or a MapView"
            )
        return StateEntry(name, type_, ttl_ms, _maker(annotation))

    def _argument(
        self, parameter: inspect.Parameter, annotation: Any, hints: tuple[Any, ...]
    ) -> Argument:
        hint = next((h for h in hints if isinstance(h, ArgumentHint)), ArgumentHint())
        optional = parameter.default is not parameter.empty
        argument = Argument(
            parameter.name, hint.traits, None, optional, parameter.default if optional else None
        )
        what = f"argument {argument.name!r} of function {self._name}"
        if argument.is_table and optional:
            raise self._error(f"{what}: Table arguments must not be optional.")
        if hint.type is not None:
            return dataclasses.replace(argument, type=declared_type(hint.type))
        make = _maker(annotation)
        if argument.is_table and make is None:
            return argument
        said = next((h for h in hints if isinstance(h, DataType | str)), None)
        type_ = data_type_of(annotation, what) if said is None else declared_type(said)
        return dataclasses.replace(argument, type=type_, make=make if argument.is_table else None)

    def _check(self) -> None:
        arguments = self.arguments
        if any(a.name in _SYSTEM_ARGUMENTS for a in arguments):
            raise self._error(
                "Function signature must not declare system arguments. Reserved argument names "
                f"are: [{', '.join(_SYSTEM_ARGUMENTS)}]"
            )
        tables = [a for a in arguments if a.is_table]
        if len(tables) > 1 and not all(a.is_set for a in tables):
            raise self._error(
                "All table arguments must use set semantics if multiple table arguments are "
                "declared."
            )
        traits = frozenset().union(*(a.traits for a in arguments))
        if ArgumentTrait.PASS_COLUMNS_THROUGH in traits:
            if ArgumentTrait.SUPPORT_UPDATES in traits:
                raise self._error("Signatures with updating inputs must not pass columns through.")
            if len(tables) > 1:
                raise self._error(
                    "Pass-through columns are not supported if multiple table arguments are "
                    "declared."
                )
        if self.states and not any(a.is_set for a in tables):
            raise self._error("only functions of tables with set semantics have state")
        for table in tables:
            if ArgumentTrait.SUPPORT_UPDATES in table.traits and table.make is not None:
                raise self._error("Table arguments that support updates must use a row type.")

    def _of_timer(self, function: Any) -> tuple[bool, tuple[int, ...]]:
        """Whether `on_timer` takes a context, and which states it takes."""
        if not hasattr(function, "on_timer"):
            return False, ()
        parameters = [p for p, _, _ in self._parameters(function.on_timer)]
        context = bool(parameters) and _is_context(parameters[0])
        names = [entry.name for entry in self.states]
        wanted = [p.name for p in (parameters[1:] if context else parameters)]
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise self._error(
                f"on_timer() has the parameter {unknown[0]!r}: it takes a context and state that "
                f"eval() has: {', '.join(names) or 'there is none'}"
            )
        return context, tuple(map(names.index, wanted))

    def _error(self, message: str) -> FunctionTypeError:
        return FunctionTypeError(f"function {self._name}: {message}")


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return parameter.name == "ctx"
    return isinstance(annotation, type) and issubclass(annotation, Context)


def _maker(annotation: Any) -> Callable[..., Any] | None:
    """What makes the user's object of the fields of a row."""
    return annotation if dataclasses.is_dataclass(annotation) else None  # type: ignore[return-value]


def _millis(ttl: timedelta | str) -> int:
    if isinstance(ttl, str):
        ttl = DURATION.parse("ttl", ttl)
    return ttl // timedelta(milliseconds=1)
