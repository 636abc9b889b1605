"""CREATE TABLE ... LIKE: which parts of another table a new one takes over."""

from __future__ import annotations

from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.sql.catalog import TableEntry
from headrace.sql.statements import LikeClause

__all__ = ["merged"]

_DEFAULT = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "PARTITIONS": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "WATERMARKS": "INCLUDING",
}


def merged(base: TableEntry, new: TableEntry, clause: LikeClause) -> TableEntry:
    """The new table with what it takes over."""
    how = dict(_DEFAULT)
    for strategy, feature in clause.features:
        if feature == "ALL":
            how = {k: strategy for k in how}
    for strategy, feature in clause.features:
        if feature in how:
            how[feature] = strategy
        elif feature != "ALL":
            raise SqlError(f"LIKE has no feature {feature}")

    def included(feature: str) -> bool:
        return how[feature] != "EXCLUDING"

    columns = []
    own = {c.name for c in new.columns}
    for column in base.columns:
        if column.expression is not None and not included("GENERATED"):
            continue
        if column.metadata and not included("METADATA"):
            continue
        if column.name in own:
            if column.expression is not None and how["GENERATED"] == "OVERWRITING":
                continue
            raise SqlError(f"A column named '{column.name}' already exists in the base table.")
        columns.append(column)
    options = dict(base.options) if included("OPTIONS") else {}
    if how["OPTIONS"] == "INCLUDING":
        for key in new.options.keys() & options.keys():
            raise SqlError(
                f"There already exists an option ['{key}' -> '{options[key]}'] in the base table. "
                "You might want to specify EXCLUDING OPTIONS or OVERWRITING OPTIONS."
            )
    keys = base.primary_key if included("CONSTRAINTS") else ()
    partitions = base.partition_keys if included("PARTITIONS") else ()
    distribution = base.distribution if included("DISTRIBUTION") else None
    watermark = base.watermark if included("WATERMARKS") else None
    if watermark and new.watermark and how["WATERMARKS"] == "INCLUDING":
        name = ".".join(watermark.column)
        raise SqlError(
            f"There already exists a watermark spec for column '{name}' in the base table. "
            "You might want to specify EXCLUDING WATERMARKS or OVERWRITING WATERMARKS."
        )
    return replace(
        new,
        columns=(*columns, *new.columns),
        watermark=new.watermark or watermark,
        primary_key=new.primary_key or keys,
        partition_keys=new.partition_keys or partitions,
        distribution=new.distribution or distribution,
        options={**options, **new.options},
    )
