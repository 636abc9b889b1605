"""Each rule of the planner has a golden file in `rules`: statements, with plans before and after.

`HEADRACE_WRITE_GOLDEN=1 pytest tests/sql/test_rules.py` writes them anew; review the diff.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.passes import PHYSICAL_PASSES
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import Join
from headrace.sql.plan.nodes import rewrite_nodes
from headrace.sql.plan.text import plan_text
from headrace.sql.rules import PASSES, optimize_all
from headrace.sql.rules.rising_rows import rising_rows
from headrace.sql.session.user_functions import register_function
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.expressions import col
from headrace.table.udf import as_wrapper, udf
from tests.sql.process_functions import AllKinds, Kinds, Tally
from tests.sql.sessions import HERE, with_tables

WHOLE = [rule for rule in PASSES if callable(rule)]
RULES = [rule for rules in PASSES for rule in ([rules] if callable(rules) else rules)]
PHYSICAL = [run.__name__ for run in PHYSICAL_PASSES]
NAMES = [*sorted({rule.__name__ for rule in RULES}), *PHYSICAL]
FOLDER = HERE / "rules"
OPTIONS = {"table.optimizer.distinct-agg.split.enabled": "true"}


KAFKA = (
    "WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'nowhere:1', "
    "'format' = 'json')"
)
TOPICS = (
    "CREATE TABLE clicks (id INT, ts TIMESTAMP(3), "
    f"WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {KAFKA}",
    "CREATE TABLE views (id INT, millis BIGINT, ts AS TO_TIMESTAMP_LTZ(millis, 3), "
    f"WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) {KAFKA}",
    "CREATE TABLE made (id BIGINT, k INT, ts AS TO_TIMESTAMP_LTZ(id, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen', "
    "'number-of-rows' = '10', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', "
    "'fields.id.end' = '10')",
    "CREATE TABLE numbers (item STRING, number BIGINT NOT NULL, PRIMARY KEY (number) NOT ENFORCED) "
    "WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://nowhere/d', 'table-name' = 't')",
    *(
        f"CREATE TABLE {name} (id INT, n INT, word STRING NOT NULL, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('connector' = 'upsert-kafka', 'topic' = '{name}', 'key.format' = 'json', "
        "'properties.bootstrap.servers' = 'nowhere:1', 'value.format' = 'json')"
        for name in ("words", "copied")
    ),
    "CREATE TABLE printed (id INT NOT NULL, name VARCHAR(3), r ROW<a INT NOT NULL>) "
    "WITH ('connector' = 'print')",
)


@udf(result_type="INT", func_type="pandas")
def vectorized(values: Any) -> Any:
    return values


def plans(name: str, query: str) -> tuple[str, str]:
    """The plan as the rule gets it, and as it leaves it."""
    session = with_tables(options=OPTIONS)
    register_function(session.session, ("vectorized",), vectorized, system=True)
    for function in (Tally, Kinds, AllKinds):
        register_function(session.session, (function.__name__,), as_wrapper(function), system=True)
    for statement in TOPICS:
        session.execute(statement)
    *settings_made, query = query.split("; ")
    for statement in settings_made:
        session.execute(statement)
    parsed = parse_statement(query)
    plan: n.Node
    if isinstance(parsed, s.Insert):
        plan = session.session.insert_plan(parsed, query)
    else:
        assert isinstance(parsed, s.Query)
        plan = session.session.query_plan(parsed.tree, query)
    for rule in RULES:
        if rule is rising_rows and name != "rising_rows":
            # It is for streams with every single change.
            continue
        before, plan = plan, rule(plan) if rule in WHOLE else rewrite_nodes(plan, rule)
        if rule.__name__ == name:
            return plan_text(before), plan_text(plan)
    settings = replace(session.session.settings(), spark_segments=True)
    for run in PHYSICAL_PASSES:
        before, (plan,) = plan, run([plan], settings)
        if run.__name__ == name:
            return plan_text(before), plan_text(plan)
    raise AssertionError(name)


def rendered(name: str, text: str) -> str:
    """The file of a rule, with the plans of its statements."""
    blocks = []
    for query in [x.removeprefix("-- ") for x in text.splitlines() if x.startswith("-- ")]:
        before, after = plans(name, query)
        blocks.append(f"-- {query}\nbefore:\n{before}\nafter:\n{after}\n")
    return "\n".join(blocks)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_rewrites_plans_as_its_golden_file_says(name: str) -> None:
    path = FOLDER / f"{name}.txt"
    text = path.read_text(encoding="utf-8")
    found = rendered(name, text)
    if os.environ.get("HEADRACE_WRITE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == text
    assert found.count("before:") >= 3


def test_every_golden_file_belongs_to_a_rule() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.txt")) == sorted(NAMES)


TWICE = (
    "WITH j AS (SELECT a.id, a.item, b.price, b.qty FROM orders AS a JOIN orders AS b "
    "ON a.item = b.item) "
)


def joins_of(plans: Sequence[n.Node]) -> list[Join]:
    """The different joins of plans."""
    nodes: dict[int, n.Node] = {}

    def walk(node: n.Node) -> None:
        if id(node) not in nodes:
            nodes[id(node)] = node
            for child in node.inputs:
                walk(child)

    for plan in plans:
        walk(plan)
    return [node for node in nodes.values() if isinstance(node, Join)]


@pytest.mark.parametrize(
    ("query", "joins"),
    [
        ("SELECT id, price FROM j UNION ALL SELECT id, qty FROM j", 1),
        ("SELECT x.id, y.qty FROM j AS x JOIN j AS y ON x.id = y.id", 2),
        (
            "SELECT id, SUM(price) FROM j GROUP BY id UNION ALL "
            "SELECT id, SUM(qty) FROM j GROUP BY id",
            1,
        ),
        ("SELECT * FROM j UNION ALL SELECT id, item, qty, qty FROM j", 1),
        (
            "SELECT id, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY id) AS r "
            "FROM j) WHERE r <= 2 UNION ALL SELECT id, qty FROM j",
            1,
        ),
    ],
)
def test_a_join_that_several_read_runs_once(query: str, joins: int) -> None:
    """With the columns that any of them reads."""
    plan = with_tables().plan(TWICE + query)
    found = joins_of([plan])
    assert len(found) == joins
    below = found[-1]
    assert "ts" not in {name for side in below.inputs for name in side.schema.names} or "*" in query


def test_a_join_that_several_inserts_read_runs_once() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name in ("one", "two"):
        t_env.execute_sql(f"CREATE TABLE {name} (i BIGINT, v STRING) WITH ('connector' = 'print')")
    left = t_env.from_elements([(1, "a")], ["id", "x"])
    right = t_env.from_elements([(1, "b")], ["other", "y"])
    joined = left.join(right, col("id") == col("other"))
    sinks = [
        joined.select(col("id"), col(column)).insert_into(name)._plan
        for name, column in (("one", "x"), ("two", "y"))
    ]
    (join,) = joins_of(optimize_all(sinks))
    assert join.schema.names == ["id", "x", "other", "y"]
