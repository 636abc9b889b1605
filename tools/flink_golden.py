"""Runs the statements of tests/sql/cases on a real Flink and stores what it shows.

    PATH=<pyflink environment>/bin:$PATH python tools/flink_golden.py [--all] [--only TEXT]

Needs the `apache-flink` package in the Python that runs it. Each file of statements has a session
in streaming and one in batch mode; a comment `-- key: value` sets an option for it. Results go to
tests/sql/golden as JSON, one file for each file and mode. Statements that are there already are
left alone without `--all`. The diff is for reviewing, as with any golden file. The names of Flink's
built-in functions go to flink_functions.json, from which the docs know what is missing.

Flink looks rows up in databases only. With `--jdbc URL` the tables of LOOKED_UP are in a PostgreSQL
with the tables of tests/sql/data/lookups.ddl, such as one that `python -m tools.database_server
postgresql` starts, and `--jars` names the directory with the connector's jars and the driver.
Without it they are files, which Flink cannot look up.
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


def options(text: str) -> dict[str, str]:
    """Options of a file of statements: comments `-- key: value`."""
    return dict(re.findall(r"^-- ([a-z.-]+): (\S+)$", text, re.MULTILINE))


LOOKED_UP = ("stock", "places")


def lookup_options(table: str, jdbc: str) -> str:
    """Options of a table that is looked up: one of a database, or else a file."""
    if not jdbc:
        path = ROOT / "data" / f"{table}.csv"
        return f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'"
    user = "'username' = 'headrace', 'password' = 'secret'"
    return f"'connector' = 'jdbc', 'url' = '{jdbc}', 'table-name' = '{table}', {user}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jdbc", default="", help="the URL of a database with tables to look up")
    parser.add_argument("--jars", default="", help="the directory of the jars for it")
    parser.add_argument("--only", default="", help="run statements with this text alone")
    parser.add_argument("--all", action="store_true", help="also what was run before")
    args = parser.parse_args()
    from pyflink.java_gateway import get_gateway
    from pyflink.table import EnvironmentSettings, TableEnvironment

    setup = (ROOT / "cases" / "setup.sql").read_text(encoding="utf-8")
    for table in LOOKED_UP:
        setup = setup.replace(f"{{{table}}}", lookup_options(table, args.jdbc))
    jars = ";".join(f"file://{x.resolve()}" for x in Path(args.jars or ".").glob("*.jar"))
    cases = [x for x in sorted((ROOT / "cases").glob("*.sql")) if x.stem != "setup"]
    for mode in ("streaming", "batch"):
        settings = getattr(EnvironmentSettings, f"in_{mode}_mode")()
        for file in cases:
            t_env = TableEnvironment.create(settings)
            text = file.read_text(encoding="utf-8")
            given = {"parallelism.default": "1", "table.local-time-zone": "UTC", **options(text)}
            if jars:
                given["pipeline.jars"] = jars
            for key, value in given.items():
                t_env.get_config().set(key, value)
            for statement in statements(setup.replace("{data}", str(ROOT / "data"))):
                t_env.execute_sql(statement)
            target = ROOT / "golden" / f"{file.stem}.{mode}.json"
            record(get_gateway(), t_env, statements(text), target, args)
    names = sorted(t_env.list_functions())
    text = json.dumps(names, indent=1) + "\n"
    (ROOT / "golden" / "flink_functions.json").write_text(text, encoding="utf-8")
    return 0


def record(
    gateway: object, t_env: object, queries: list[str], target: Path, args: argparse.Namespace
) -> None:
    """Run the statements of a file, and store each as soon as it is done."""
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    for number, query in enumerate(queries, 1):
        if args.only not in query or (query in known and not args.all):
            continue
        known[query] = run(gateway, t_env, query)
        print(target.stem, number, len(queries), str(known[query])[:300], flush=True)
        store(target, known, queries)
    store(target, known, queries)


def store(target: Path, known: dict[str, object], queries: list[str]) -> None:
    """Results in the order of the statements."""
    results = {q: known[q] for q in queries if q in known}
    text = json.dumps(results, indent=1, ensure_ascii=False)
    target.write_text(text + "\n", encoding="utf-8")


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
        while java is not None and java.getCause() is not None:
            java = java.getCause()
        message = java.getMessage() if java is not None else str(error)
        return {"error": str(message)[:500]}


if __name__ == "__main__":
    sys.exit(main())
