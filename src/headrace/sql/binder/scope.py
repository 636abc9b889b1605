"""Scopes: which columns a name can refer to, here or in the queries around this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext, repeated, suggestion
from headrace.sql.parser.syntax import Constant, Name, Node, Span
from headrace.sql.plan.correlation import further_in
from headrace.sql.plan.expressions import Call, Expression, Literal, Schema
from headrace.sql.types.type_rules import literal_type


@dataclass
class Relation:
    """A table in FROM: its name or alias, its path if it has one, and where its columns begin."""

    name: str | None
    schema: Schema
    offset: int
    path: tuple[str, ...] = ()
    hidden: bool = False


@dataclass
class Scope:
    """The relations of a FROM clause, with their columns side by side."""

    context: BindingContext
    relations: list[Relation] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    """Position, by name, of the columns that USING and NATURAL merge from both sides."""

    def add(
        self,
        name: str | None,
        schema: Schema,
        path: tuple[str, ...] = (),
        span: Span | None = None,
    ) -> None:
        """Add a relation behind the others; two of the same name could not be told apart."""
        if name is not None and name in self._names():
            raise self.context.error(
                f"Duplicate relation name '{name}' in FROM clause: give one of them another alias",
                span,
            )
        self.relations.append(Relation(name, schema, len(self.schema), path))

    def add_hidden(self, schema: Schema) -> None:
        """Add columns that have no names, and that a star does not include."""
        self.relations.append(Relation(None, schema, len(self.schema), hidden=True))

    @property
    def schema(self) -> Schema:
        return Schema(tuple(f for r in self.relations for f in r.schema))

    def columns_of(self, table: tuple[str, ...], span: Span | None) -> list[int]:
        """Positions of the columns that a star stands for: those of one table, or of all."""
        if not table:
            rest = [
                i
                for r in self.relations
                if not r.hidden
                for i, name in zip(self._all_of(r, span), r.schema.names, strict=True)
                if name not in self.merged
            ]
            return [*self.merged.values(), *rest]
        relation = self._relation(table)
        if relation is None:
            raise self.context.error(
                f"Table '{'.'.join(table)}' not found{suggestion(table[-1], self._names())}", span
            )
        return list(self._all_of(relation, span))

    def path_of(self, index: int) -> tuple[str, ...]:
        """The name of a column, behind that of its relation if it has one."""
        name = self.schema[index].name
        if name in self.merged:
            return (name,)
        (relation,) = [r for r in self.relations if 0 <= index - r.offset < len(r.schema)]
        return (name,) if relation.name is None else (relation.name, name)

    def is_clear(self, path: tuple[str, ...]) -> bool:
        """Whether the path of a column is not that of another one, too."""
        name = path[0]
        return len(path) > 1 or name in self.merged or self.schema.names.count(name) == 1

    def _all_of(self, relation: Relation, span: Span | None) -> range:
        """Positions of the columns of a relation, none of which may be ambiguous."""
        twice = repeated(relation.schema.names)
        if twice is not None:
            raise self.context.error(f"Column '{twice}' is ambiguous", span)
        return range(relation.offset, relation.offset + len(relation.schema))

    def has_table(self, table: tuple[str, ...]) -> bool:
        """Whether a name is that of a relation."""
        return self._relation(table) is not None

    def _names(self) -> list[str]:
        return [r.name for r in self.relations if r.name]

    def _relation(self, table: tuple[str, ...]) -> Relation | None:
        for relation in self.relations:
            if relation.name == table[-1] and len(table) == 1:
                return relation
            # A table with an alias is known by that alone.
            known = relation.path[-1:] == (relation.name,)
            if known and relation.path[-len(table) :] == table:
                return relation
        return None

    def resolve(self, parts: tuple[str, ...], span: Span | None) -> Expression:
        """The column that a name refers to, with any fields of rows after it.

        As in SQL, the innermost query that knows the name decides. If the name is ambiguous there,
        that is an error; outer queries are not searched.
        """
        outer = self.context.outer
        if outer is None or self.knows(parts) or not outer.finds(parts):
            return self._resolve(parts, span)
        return further_in(outer.resolve(parts, span))

    def finds(self, parts: tuple[str, ...]) -> bool:
        """Whether this query, or one around it, knows a name."""
        outer = self.context.outer
        return self.knows(parts) or (outer is not None and outer.finds(parts))

    def knows(self, parts: tuple[str, ...]) -> bool:
        """Whether this query knows a name: it begins with one of its tables or columns."""
        if any(self._relation(parts[:length]) for length in range(1, len(parts))):
            return True
        # A column `a` that is not a row has no field `b`; `a.b` may be a table of an outer query.
        return any(
            field.name == parts[0] and (len(parts) == 1 or isinstance(field.type, t.RowType))
            for field in self.schema
        )

    def _resolve(self, parts: tuple[str, ...], span: Span | None) -> Expression:
        for length in range(1, len(parts)):
            relation = self._relation(parts[:length])
            if relation is not None:
                name = parts[length]
                if name in relation.schema.names:
                    if relation.schema.names.count(name) > 1:
                        raise self.context.error(f"Column '{name}' is ambiguous", span)
                    index = relation.offset + relation.schema.names.index(name)
                    return self._fields(index, parts[length + 1 :], span)
                if length == len(parts) - 1 and self._find(parts[0], span) is None:
                    hint = suggestion(name, relation.schema.names)
                    raise self.context.error(
                        f"Column '{name}' not found in table '{'.'.join(parts[:length])}'{hint}",
                        span,
                    )
        found = self._find(parts[0], span)
        if found is None:
            if len(parts) > 1:
                names = [*self._names(), *self.schema.names]
                hint = suggestion(parts[0], names)
                raise self.context.error(f"Table '{parts[0]}' not found{hint}", span)
            hint = suggestion(parts[0], self.schema.names)
            if span is None:
                # The Table API has no text to show, and other words for this in Flink.
                known = ", ".join(self.schema.names)
                if not hint and not parts[0].isidentifier():
                    hint = " A text is the name of a column; expressions begin with col('name')"
                raise self.context.error(
                    f"Cannot resolve field [{parts[0]}], input field list:[{known}].{hint}", span
                )
            raise self.context.error(f"Column '{parts[0]}' not found in any table{hint}", span)
        return self._fields(found, parts[1:], span)

    def _find(self, name: str, span: Span | None) -> int | None:
        if name in self.merged:
            return self.merged[name]
        found = [i for i, f in enumerate(self.schema) if f.name == name]
        if len(found) > 1:
            raise self.context.error(f"Column '{name}' is ambiguous", span)
        return found[0] if found else None

    def _fields(self, index: int, names: tuple[str, ...], span: Span | None) -> Expression:
        expression: Expression = self.schema.column(index)
        for name in names:
            expression = field_of(self.context, expression, name, span)
        return expression


def of_result(node: Node, names: Sequence[str]) -> bool:
    """Whether ORDER BY refers to a column of the result, by number or name.

    Names of the result take precedence over those of the input.
    """
    if isinstance(node, Constant):
        return type(node.value) is int
    return isinstance(node, Name) and len(node.parts) == 1 and node.parts[0] in names


def field_of(
    context: BindingContext, row: Expression, name: str, span: Span | None = None
) -> Expression:
    """A field of a row."""
    type_ = row.type
    if not isinstance(type_, t.RowType):
        raise context.error(f"{row} is not a row, so it has no field '{name}' in it", span)
    if name not in type_.names:
        hint = suggestion(name, type_.names)
        raise context.error(f"Field '{name}' not found in {type_.sql_text()}{hint}", span)
    index = type_.names.index(name)
    inner = type_.fields[index].data_type
    function = context.registry.find("GET")
    result = inner.with_nullable(inner.is_nullable or type_.is_nullable)
    return Call(result, function, (row, Literal(literal_type(index), index)))
