"""What binding needs from outside: tables, functions, settings; and how it reports errors."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.common.errors import SqlError
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.functions.registry import Registry
from headrace.sql.parser.excerpts import Excerpt
from headrace.sql.parser.syntax import Span
from headrace.sql.plan.nodes import Node

if TYPE_CHECKING:
    from headrace.sql.binder.scope import Scope
    from headrace.sql.models.provider import ModelContext


def _no_table(path: tuple[str, ...], options: dict[str, str]) -> Node | None:
    return None


def _no_function(path: tuple[str, ...]) -> Any:
    return None


@dataclass
class BindingContext:
    """The surroundings of a statement.

    Attributes:
        text: The statement, for messages.
        find_table: The plan of a table or view, by its path and the options of a hint; None if
            there is none.
        find_function: A user's function by its path; None if there is none.
        find_model: A model by its path; None if there is none.
        table_names: Names for suggestions.
        zone: The session's time zone.
        batch: Whether the statement runs in batch mode.
        database: The current database.
        catalog: The current catalog.
        distinct_buckets: Into how many parts DISTINCT aggregates are split; 0: not at all.
        duplicate_changes: Whether sources of changes may send some of them more than once.
        outer: The names of the query around a subquery.
        stars: What each star of the text stands for, if that is to be noted: the paths of the
            columns and the names that they get.
    """

    text: str = ""
    find_table: Callable[[tuple[str, ...], dict[str, str]], Node | None] = _no_table
    find_function: Callable[[tuple[str, ...]], Any] = _no_function
    find_model: Callable[[tuple[str, ...]], ModelContext | None] = _no_function
    table_names: Callable[[], Iterable[str]] = tuple
    model_names: Callable[[], Iterable[str]] = tuple
    function_names: Callable[[], Iterable[str]] = tuple
    zone: str = "UTC"
    batch: bool = False
    database: str = ""
    catalog: str = ""
    distinct_buckets: int = 0
    duplicate_changes: bool = False
    registry: Registry = field(default_factory=builtin_registry)
    outer: Scope | None = None
    stars: dict[Span, list[tuple[tuple[str, ...], str]]] | None = None

    def error(self, message: str, span: Span | None = None) -> SqlError:
        """An error that shows the place."""
        return self.excerpt(span).error(message)

    def excerpt(self, span: Span | None) -> Excerpt:
        """A piece of the statement."""
        return Excerpt(self.text, span)


def suggestion(name: str, known: Iterable[str], begin: str = ", did") -> str:
    """`, did you mean x?` if a known name is like the wrong one."""
    known = list(known)
    by_case = [k for k in known if k.lower() == name.lower()]
    found = by_case or difflib.get_close_matches(name, known, 1, 0.6)
    return f"{begin} you mean '{found[0]}'?" if found else ""


def repeated(names: Sequence[str]) -> str | None:
    """A name that is there more than once."""
    return next((name for name in names if names.count(name) > 1), None)
