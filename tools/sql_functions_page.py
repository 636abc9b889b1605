"""Writes docs/sql-functions.md: the built-in functions that are there, and those that are not.

    python tools/sql_functions_page.py [--output docs/sql-functions.md]

What Flink has is in tests/sql/golden/flink_functions.json, which tools/flink_golden.py records.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.functions.registry import Function

ROOT = Path(__file__).parents[1]

INTRODUCTION = """\
# SQL functions

These built-in functions of Flink 2.3 are supported.
Arguments, results and the handling of NULL are Flink's.
The statements in `tests/sql/cases` compare them with a real Flink.
Operators such as `+`, `LIKE`, `BETWEEN`, `IS JSON` and `CASE` are not listed.
`tools/sql_functions_page.py` generates this page.

"""

ABSENT = "Flink's `SHOW FUNCTIONS` also lists these, which headrace does not have:"

# Names of Flink's functions that are parts of the syntax, or of other functions.
SYNTAX = frozenset(
    [
        "agg_decimal_minus",
        "agg_decimal_plus",
        "as",
        "asc",
        "assignment",
        "ceiling",
        "default",
        "desc",
        "distinct",
        "end",
        "flatten",
        "from_changelog",
        "hive_agg_decimal_plus",
        "json_arrayagg_absent_on_null",
        "json_arrayagg_null_on_null",
        "json_objectagg_absent_on_null",
        "json_objectagg_null_on_null",
        "lowercase",
        "ml_predict",
        "over",
        "rangeto",
        "reinterpretcast",
        "rowtime",
        "start",
        "streamrecordtimestamp",
        "temporaloverlaps",
        "to_changelog",
        "translate3",
        "uppercase",
        "withcolumns",
        "withoutcolumns",
    ]
)
# Hidden functions with a syntax that is written like a call.
WRITTEN = frozenset({"ARRAY", "CAST", "MAP", "TRY_CAST"})

MODULES = (
    "numbers",
    "texts",
    "times",
    "conditions",
    "containers",
    "json",
    "bitmaps",
    "aggregates",
)
TITLES = {
    "numbers": "Numbers",
    "texts": "Texts and bytes",
    "times": "Dates and times",
    "conditions": "Conditions and conversions",
    "containers": "Arrays, maps and rows",
    "json": "JSON",
    "bitmaps": "Bitmaps",
    "aggregates": "Aggregates",
}
NOTES = {
    "LEAD": "batch mode only, as in Flink",
    "NTILE": "batch mode only, as in Flink",
    "PERCENT_RANK": "batch mode only, as in Flink",
    "CUME_DIST": "batch mode only; equal rows have equal values, which Flink 2.3 gives one by one",
    "APPROX_COUNT_DISTINCT": "exact",
}


def functions_of(module: str) -> list[Function]:
    """The functions that a module declares."""
    imported = __import__(f"headrace.sql.functions.{module}", fromlist=["FUNCTIONS"])
    found = {f.name: f for f in imported.FUNCTIONS if not f.hidden or f.name in WRITTEN}
    return [found[name] for name in sorted(found)]


def shown(function: Function) -> str:
    note = NOTES.get(function.name)
    return f"`{function.name}`" + (f" ({note})" if note else "")


def missing() -> list[str]:
    """Names of Flink's functions that are not there, or that are only parts of the syntax."""
    path = ROOT / "tests" / "sql" / "golden" / "flink_functions.json"
    names: list[str] = json.loads(path.read_text(encoding="utf-8"))
    registry = builtin_registry()
    there = {f.name.replace("_", "").lower() for f in registry.all()}
    there |= {f.table_name.lower() for f in registry.all()} | {x.replace("_", "") for x in SYNTAX}
    return sorted(n for n in names if n.isidentifier() and n.replace("_", "").lower() not in there)


def page() -> str:
    """The page."""
    lines = [INTRODUCTION.rstrip(), ""]
    for module in MODULES:
        names = ", ".join(shown(f) for f in functions_of(module))
        lines += [f"## {TITLES[module]}", "", names + ".", ""]
    absent = ", ".join(f"`{n}`" for n in missing())
    if absent:
        lines += ["## What is not there", "", ABSENT, "", f"{absent}.", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "sql-functions.md")
    args = parser.parse_args()
    args.output.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
