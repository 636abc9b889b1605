"""Runs the statements of tests/sql/cases on a real Flink and stores what it shows.

    PATH=<pyflink environment>/bin:$PATH python tools/flink_golden.py [--only TEXT]

Needs the `apache-flink` package in the Python that runs it. One session in streaming and one in
batch mode serve all statements; results go to tests/sql/golden as JSON, one file for each mode.
The diff is for reviewing, as with any golden file.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "tests" / "sql"


def statements(text: str) -> list[str]:
    """Statements of a file; comments are lines that begin with two dashes."""
    lines = [x for x in text.splitlines() if not x.startswith("--")]
    return [s.strip() for s in re.split(r";\s*\n", "\n".join(lines) + "\n") if s.strip()]


def plain(value: object) -> object:
    """A value that JSON can hold."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dict):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "_values"):
        return [plain(v) for v in value._values]
    return value


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="run statements with this text alone")
    args = parser.parse_args()
    from pyflink.java_gateway import get_gateway
    from pyflink.table import EnvironmentSettings, TableEnvironment

    for mode in ("streaming", "batch"):
        settings = getattr(EnvironmentSettings, f"in_{mode}_mode")()
        t_env = TableEnvironment.create(settings)
        t_env.get_config().set("parallelism.default", "1")
        t_env.get_config().set("table.local-time-zone", "UTC")
        setup = (ROOT / "cases" / "setup.sql").read_text(encoding="utf-8")
        for statement in statements(setup.replace("{data}", str(ROOT / "data"))):
            t_env.execute_sql(statement)
        target = ROOT / "golden" / f"{mode}.json"
        known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
        results = {}
        queries = statements((ROOT / "cases" / "queries.sql").read_text(encoding="utf-8"))
        for number, query in enumerate(queries, 1):
            if args.only not in query:
                if query in known:
                    results[query] = known[query]
                continue
            results[query] = run(get_gateway(), t_env, query)
            print(mode, number, len(queries), str(results[query])[:100], flush=True)
        target.parent.mkdir(exist_ok=True)
        text = json.dumps(results, indent=1, ensure_ascii=False)
        target.write_text(text + "\n", encoding="utf-8")
    return 0


def run(gateway: object, t_env: object, query: str) -> dict[str, object]:
    """Columns, and the tableau that Flink prints."""
    try:
        result = t_env.execute_sql(query)
        schema = result._j_table_result.getResolvedSchema()
        columns = [[c.getName(), c.getDataType().toString()] for c in schema.getColumns()]
        stream = gateway.jvm.java.io.ByteArrayOutputStream()
        out = gateway.jvm.java.io.PrintStream(stream, True, "UTF-8")
        system = gateway.jvm.java.lang.System
        before = system.out
        system.setOut(out)
        try:
            result._j_table_result.print()
        finally:
            system.setOut(before)
        return {"columns": columns, "tableau": stream.toString("UTF-8").splitlines()}
    except Exception as error:
        java = getattr(error, "java_exception", None)
        message = java.getMessage() if java is not None else str(error)
        return {"error": str(message)[:500]}


if __name__ == "__main__":
    sys.exit(main())
