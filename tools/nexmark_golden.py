"""Runs the queries of Nexmark on a real Flink over a few events, and stores what they give.

    HADOOP_CLASSPATH=<hadoop jars, by :> PATH=<pyflink environment>/bin:$PATH \\
        python tools/nexmark_golden.py <Flink's Parquet jar> [q0 q1 ...]

Needs the `apache-flink` package in the Python that runs it. Of each query tests/sql/nexmark.json
gets the number of rows that are left after all changes, the first of them, and a digest of all. Of
q12 nothing is left: windows of processing time that are not over when the input ends never come
out.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.nexmark import queries
from benchmarks.nexmark.generator import Events, write_tables
from tools.flink_golden import plain

EVENTS = Events(count=4_000, per_second=80, files=1)
"""So far apart that no two have the same time, and so few that Flink takes seconds."""

TARGET = Path(__file__).parents[1] / "tests" / "sql" / "nexmark.json"


def summary(rows: Iterable[list[Any]]) -> dict[str, Any]:
    """What is kept of rows, whose order does not matter."""
    lines = sorted(json.dumps(row, ensure_ascii=False) for row in rows)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"rows": len(lines), "first": [json.loads(x) for x in lines[:3]], "sha256": digest}


_KEYS = {"q9": 1, "q18": 2}
"""How many columns are the key where Flink sends new rows of a key without the old ones (`-U`)."""


def materialized(changes: Iterable[Any], key_columns: int | None) -> list[list[Any]]:
    """The rows that are left after Flink's changes."""
    left: Counter[str] = Counter()
    by_key: dict[str, list[Any]] = {}
    for row in changes:
        kind = row.get_row_kind().value
        values = [plain(_whole_millis(v)) for v in row]
        if key_columns is None:
            left[json.dumps(values)] += -1 if kind in (1, 3) else 1
        elif kind == 3:
            del by_key[json.dumps(values[:key_columns])]
        else:
            by_key[json.dumps(values[:key_columns])] = values
    if min(left.values(), default=0) < 0:
        raise ValueError("Flink took back rows that it had not given")
    return [*by_key.values(), *(json.loads(text) for text in left.elements())]


def _whole_millis(value: Any) -> Any:
    """PyFlink makes 0.000999 of a millisecond here and there: it comes to it as a float."""
    if not isinstance(value, datetime):
        return value
    rest = timedelta(microseconds=value.microsecond % 1000)
    return value - rest + timedelta(milliseconds=round(rest / timedelta(milliseconds=1)))


def _reason(error: Exception) -> str:
    """Flink's own words, without where they were said."""
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java).splitlines()[0]


def main() -> int:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    jars = f"file://{Path(sys.argv[1]).absolute()}"
    for key, value in {
        "parallelism.default": "1",
        "table.local-time-zone": "UTC",
        "pipeline.jars": jars,
        "pipeline.classpaths": jars,
    }.items():
        t_env.get_config().set(key, value)
    found = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        write_tables(folder, EVENTS)
        for statement in queries.tables(folder):
            t_env.execute_sql(statement)
        for name in sys.argv[2:] or queries.QUERIES:
            try:
                result = t_env.execute_sql(queries.QUERIES[name])
                found[name] = summary(materialized(result.collect(), _KEYS.get(name)))
            except Exception as error:
                found[name] = {"error": _reason(error)}
            print(name, found[name], flush=True)
            TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
