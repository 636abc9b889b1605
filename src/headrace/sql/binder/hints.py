"""Binds the hints of a query: how long state is kept, how joins are made and lookups run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headrace.common.errors import ConfigurationError
from headrace.common.settings.types import BOOLEAN, DURATION, OptionType
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.scope import Relation, Scope
from headrace.sql.parser.hints import QueryHint, query_hints
from headrace.sql.plan.joins import JoinHint
from headrace.sql.plan.lookup_hint import LookupHint

__all__ = ["JoinHints", "QueryHints"]

_JOINS = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")


@dataclass(frozen=True)
class JoinHints:
    """What hints say about one join.

    Attributes:
        ttls_ms: How long rows of each side are kept, where it is said.
        strategies: How it is to be made.
        lookup: How its lookups run.
    """

    ttls_ms: tuple[int | None, int | None] = (None, None)
    strategies: tuple[JoinHint, ...] = ()
    lookup: LookupHint = field(default_factory=LookupHint)


class QueryHints:
    """The hints behind one SELECT."""

    def __init__(self, context: BindingContext, comments: Sequence[str] = ()) -> None:
        self._context = context
        self._hints = query_hints(comments, context.text)
        self._ttls: dict[str, int] = {}
        self._lookups: dict[str, LookupHint] = {}
        for hint in self._hints:
            if hint.name == "STATE_TTL":
                self._ttls |= self._ttls_of(hint)
            elif hint.name == "LOOKUP":
                table, lookup = _LookupOptions(context, hint).bound()
                self._lookups[table] = lookup
            elif not hint.tables:
                raise context.error(
                    f"Invalid hint: {hint}, expecting at least one table or view specified in "
                    f"hint {hint.name}.",
                    hint.span,
                )

    def _ttls_of(self, hint: QueryHint) -> dict[str, int]:
        if not hint.options:
            raise self._context.error(
                "Invalid STATE_TTL hint, expecting at least one key-value options specified: "
                "STATE_TTL('table' = '1 d')",
                hint.span,
            )
        try:
            return {k: _millis(DURATION.parse("STATE_TTL", v)) for k, v in hint.options}
        except ConfigurationError as error:
            message = f"Invalid STATE_TTL hint value: {error}"
            raise self._context.error(message, hint.span) from None

    def of_join(self, left: Scope, right: Scope) -> JoinHints:
        """What they say about the join of two relations, or of joins, which have no name."""
        strategies = tuple(
            JoinHint(hint.name, table, side is left)
            for hint in self._hints
            for table in hint.tables
            for side in (left, right)
            if hint.name in _JOINS and any(r.name == table for r in side.relations)
        )
        lookup = next((x for r in right.relations if (x := self._lookups.get(r.name or ""))), None)
        return JoinHints(
            (self._ttl_of(left), self._ttl_of(right)), strategies, lookup or LookupHint()
        )

    def _ttl_of(self, scope: Scope) -> int | None:
        if len(scope.relations) != 1:
            return None
        (relation,) = scope.relations
        return next((self._ttls[x] for x in _names(relation) if x in self._ttls), None)

    @property
    def of_groups(self) -> int | None:
        """How long the state of groups is kept: what is said last."""
        return next(reversed(self._ttls.values()), None)

    def check(self, scope: Scope) -> None:
        """Refuses names that no input has; without a join, hints on joins say nothing."""
        joined = len([r for r in scope.relations if not r.hidden]) > 1
        aliases = {r.name for r in scope.relations}
        known = {x for r in scope.relations for x in _names(r)}
        wrong: list[tuple[str, QueryHint]] = []
        for hint in sorted(self._hints, key=lambda hint: hint.name not in _JOINS):
            if hint.name == "STATE_TTL":
                missing = [name for name, _ in hint.options if name not in known]
            elif not joined:
                continue
            elif hint.name == "LOOKUP":
                missing = [v for k, v in hint.options if k == "table" and v not in aliases]
            else:
                missing = [table for table in hint.tables if table not in aliases]
            if missing:
                wrong.append((", ".join(missing), hint))
        if wrong:
            lines = [f"`{names}` in `{hint.name}`" for names, hint in wrong]
            raise self._context.error(
                "The options of following hints cannot match the name of input tables or views: "
                + "".join(f"\n{line}" for line in lines),
                wrong[0][1].span,
            )


def _names(relation: Relation) -> tuple[str, ...]:
    return (relation.name or "", *relation.path[-1:])


class _LookupOptions:
    """The options of one LOOKUP hint, with Flink's messages for what is wrong."""

    _RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")

    def __init__(self, context: BindingContext, hint: QueryHint) -> None:
        self._context = context
        self._hint = hint
        self._given = dict(hint.options)

    def bound(self) -> tuple[str, LookupHint]:
        """The table, and how it is looked up."""
        if self._hint.tables:
            raise self._error(
                "Invalid list options in LOOKUP hint, only support key-value options."
            )
        table = self._given.get("table")
        if table is None:
            raise self._error(
                "Invalid LOOKUP hint: incomplete required option(s): [Key: 'table' , default: null "
                "(fallback keys: [])]"
            )
        asynchronous = self._parsed("async", BOOLEAN)
        capacity = self._positive("capacity")
        timeout = self._parsed("timeout", DURATION)
        self._one_of("output-mode", ("ordered", "allow_unordered"))
        return table, LookupHint(
            asynchronous, capacity, None if timeout is None else _millis(timeout), *self._retry()
        )

    def _retry(self) -> tuple[int, int]:
        """How often a key is looked up, and how long the next time waits."""
        self._one_of("retry-strategy", ("fixed_delay",))
        delay, attempts = self._parsed("fixed-delay", DURATION), self._positive("max-attempts")
        given = [key for key in self._RETRY if key in self._given]
        if not given:
            return 1, 0
        if len(given) < len(self._RETRY):
            raise self._error("Invalid LOOKUP hint: retry options can be both null or all not null")
        predicate = self._given["retry-predicate"]
        if predicate.lower() != "lookup_miss":
            raise self._error(
                f"Invalid LOOKUP hint option: unsupported retry-predicate '{predicate}', only "
                "'lookup_miss' is supported currently"
            )
        assert attempts is not None
        # The first lookup is not an attempt to repeat it.
        return attempts + 1, _millis(delay)

    def _parsed(self, key: str, kind: OptionType[Any]) -> Any:
        text = self._given.get(key)
        if text is None:
            return None
        try:
            value = kind.parse(key, text)
        except ConfigurationError:
            raise self._unreadable(key) from None
        if isinstance(value, timedelta) and value < timedelta(0):
            raise self._unreadable(key)
        return value

    def _positive(self, key: str) -> int | None:
        text = self._given.get(key)
        if text is None:
            return None
        try:
            number = int(text)
        except ValueError:
            raise self._unreadable(key) from None
        if number <= 0:
            raise self._error(
                f"Invalid LOOKUP hint option: {key} value should be positive integer but was "
                f"{number}"
            )
        return number

    def _one_of(self, key: str, known: Sequence[str]) -> None:
        if self._given.get(key, known[0]).lower() not in known:
            raise self._unreadable(key)

    def _unreadable(self, key: str) -> Exception:
        return self._error(
            f"Invalid LOOKUP hint options: Could not parse value '{self._given[key]}' for key "
            f"'{key}'."
        )

    def _error(self, message: str) -> Exception:
        return self._context.error(message, self._hint.span)


def _millis(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
