"""What may stand at the cursor of a statement: names, keywords and keys of settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headrace.common import options as declared
from headrace.common.errors import HeadraceError
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.session.session import Session

__all__ = ["candidates"]

_KEYWORDS = """
ALTER AND AS BEGIN BETWEEN BY CASE CAST CATALOG CATALOGS CLEAR COLUMNS COUNT CREATE CUMULATE CURRENT
DATABASE DATABASES DESCRIBE DESCRIPTOR DISTINCT DROP ELSE END EXECUTE EXISTS EXIT EXPLAIN EXTENDED
FROM FULL FUNCTION FUNCTIONS GROUP HAVING HELP HOP IF IN INSERT INTERVAL INTO IS JOB JOBS JOIN
LATERAL LIKE LIMIT LOAD METADATA MODULE MODULES NOT NULL ON OR ORDER OVER OVERWRITE PARTITION
PARTITIONED PARTITIONS PRIMARY QUIT RENAME RESET ROW SAVEPOINT SELECT SESSION SET SHOW STATEMENT
STOP TABLE TABLES TEMPORARY THEN TO TUMBLE UNION UNLOAD USE VALUES VIEW VIEWS VIRTUAL WATERMARK WHEN
WHERE WITH
"""


def candidates(session: Session, before: str) -> Iterator[tuple[str, int]]:
    """What may stand at the cursor, and how many characters before it are replaced."""
    setting = re.search(r"\b(?:SET|RESET)\s+'([\w.-]*)$", before, re.IGNORECASE)
    if setting is not None:
        keys = [*declared.OPTIONS, "sql-client.execution.result-mode"]
        yield from ((k, len(setting[1])) for k in sorted(keys) if k.startswith(setting[1]))
        return
    found = re.search(r"[\w$]*$", before)
    word = found[0] if found else ""
    if not word:
        return
    for name in _names(session):
        if name.lower().startswith(word.lower()):
            yield name, len(word)
    capital = word.isupper() or not word.islower()
    for keyword in [*_KEYWORDS.split(), *builtin_registry().names()]:
        if keyword.startswith(word.upper()):
            yield (keyword if capital else keyword.lower()), len(word)


def _names(session: Session) -> Iterable[str]:
    catalogs = session.catalogs
    try:
        tables = catalogs.list_tables()
    except HeadraceError:
        tables = []
    columns: set[str] = set()
    for table in tables:
        entry = catalogs.find_table((table,))
        columns |= {c.name for c in entry.columns} if entry is not None else set()
    here = catalogs.catalog(catalogs.current_catalog).list_databases()
    functions = catalogs.user_functions()
    return sorted({*tables, *columns, *here, *catalogs.registry.names(), *functions})
