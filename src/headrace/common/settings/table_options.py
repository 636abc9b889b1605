"""The options of SQL and the Table API, `table.*`."""

from __future__ import annotations

import re
from typing import Any

from headrace.common.settings.registry import declare
from headrace.common.settings.types import (
    BOOLEAN,
    DURATION,
    INT,
    LONG,
    MEMORY,
    STRING,
    OptionType,
    choice,
    ranged,
    text_of,
)

_POSITIVE: OptionType[int] = ranged(INT, 1)


def _read_zone(value: Any) -> str:
    # Late: slots start without it.
    from zoneinfo import ZoneInfo

    name = text_of(value)
    if name.lower() == "default":
        return "default"
    if _OFFSET.fullmatch(name):
        name = f"GMT{name.removeprefix('GMT')}"
    try:
        ZoneInfo(zone_key(name))
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(name) from error
    return name


_OFFSET = re.compile(r"(?:GMT)?(?P<sign>[+-])(?P<hours>\d\d):00")


def zone_key(name: str) -> str:
    """The name under which a zone is found: the database has signs of offsets the other way."""
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return name
    return f"Etc/GMT{'-' if offset['sign'] == '+' else '+'}{int(offset['hours'])}"


_ZONE: OptionType[str] = OptionType(
    "String", "a time zone such as 'Europe/Berlin', 'UTC' or 'GMT+08:00', or 'default'", _read_zone
)

# -- Sessions

BUILTIN_CATALOG = declare(
    "table.builtin-catalog-name", STRING, "default_catalog", "Name of the first catalog."
)
BUILTIN_DATABASE = declare(
    "table.builtin-database-name", STRING, "default_database", "Name of the first database."
)
CATALOG_STORE_KIND = declare(
    "table.catalog-store.kind", choice("generic_in_memory", "file"), "generic_in_memory",
    "Where CREATE CATALOG keeps what it was told: for the session, or in files for all sessions.",
)  # fmt: skip
CATALOG_STORE_PATH = declare(
    "table.catalog-store.file.path", STRING, None, "Directory of the files of catalogs."
)
DEFAULT_FRESHNESS_CONTINUOUS = declare(
    "materialized-table.default-freshness.continuous", DURATION, "3 min",
    "Freshness of a materialized table that declares none.",
)  # fmt: skip
DEFAULT_FRESHNESS_FULL = declare(
    "materialized-table.default-freshness.full", DURATION, "1 h",
    "The same for `REFRESH_MODE = FULL`.",
)  # fmt: skip
FRESHNESS_THRESHOLD = declare(
    "materialized-table.refresh-mode.freshness-threshold", DURATION, "30 min",
    "A materialized table without `REFRESH_MODE` whose freshness is below that is refreshed "
    "continuously, any other as a whole.",
)  # fmt: skip
DML_SYNC = declare(
    "table.dml-sync", BOOLEAN, False, "Whether an INSERT waits until its job has ended."
)
LOCAL_TIME_ZONE = declare(
    "table.local-time-zone", _ZONE, "default",
    "Time zone of TIMESTAMP_LTZ; `default` is the machine's.",
)  # fmt: skip
SQL_DIALECT = declare(
    "table.sql-dialect",
    choice("default", "hive"),
    "default",
    "SQL dialect; statements can only be read in Flink's own, which is the default one.",
)
GENERATED_CODE_LENGTH = declare(
    "table.generated-code.max-length", _POSITIVE, 4000,
    "Accepted for compatibility with Flink; Python functions have no such limit.",
)  # fmt: skip

# -- How plans are made and run

AGG_PHASE_STRATEGY = declare(
    "table.optimizer.agg-phase-strategy", choice("AUTO", "ONE_PHASE", "TWO_PHASE"), "AUTO",
    "`ONE_PHASE` aggregates only after the exchange; the others also aggregate before it where "
    "possible.",
)  # fmt: skip
MULTI_JOIN_ENABLED = declare(
    "table.optimizer.multi-join.enabled", BOOLEAN, False,
    "Whether inner and left joins on one common key run in one operator of a stream, which keeps "
    "the rows of each table once, and nothing of what is joined in between.",
)  # fmt: skip
REUSE_SUB_PLAN_ENABLED = declare(
    "table.optimizer.reuse-sub-plan-enabled", BOOLEAN, True,
    "Whether aggregates, joins and the like that a statement has twice run once.",
)  # fmt: skip
PREDICATE_PUSHDOWN_ENABLED = declare(
    "table.optimizer.source.predicate-pushdown-enabled", BOOLEAN, True,
    "Whether tables of databases and lakehouses look at conditions while they are read.",
)  # fmt: skip
DISTINCT_SPLIT_ENABLED = declare(
    "table.optimizer.distinct-agg.split.enabled", BOOLEAN, False,
    "Whether distinct aggregates run in two levels, for groups with very many values.",
)  # fmt: skip
DISTINCT_SPLIT_BUCKETS = declare(
    "table.optimizer.distinct-agg.split.bucket-num", _POSITIVE, 1024,
    "The number of buckets into which the first of these levels puts the values of a group.",
)  # fmt: skip
MINI_BATCH_ENABLED = declare(
    "table.exec.mini-batch.enabled", BOOLEAN, None,
    "If false, every single row changes the results of a stream; otherwise the changes of an "
    "epoch are merged.",
)  # fmt: skip
MINI_BATCH_LATENCY = declare(
    "table.exec.mini-batch.allow-latency", DURATION, "0 ms",
    "With `table.exec.mini-batch.enabled`: how far apart the epochs of a live job are at least, "
    "whose changes are merged.",
)  # fmt: skip
SPARK_SEGMENTS = declare(
    "table.exec.spark-segments", BOOLEAN, True,
    "Whether Spark's JVM runs the parts of a plan that it can.",
)  # fmt: skip
STATE_TTL = declare(
    "table.exec.state.ttl", DURATION, "0 ms",
    "How long state is kept after a row last changed it; 0 keeps it forever.",
)  # fmt: skip
UPDATE_STRATEGY = declare(
    "table.optimizer.non-deterministic-update.strategy", choice("IGNORE", "TRY_RESOLVE"), "IGNORE",
    "`TRY_RESOLVE` keeps what lookup joins found for rows that may change, so that the same is "
    "taken back; `IGNORE` looks it up again.",
)  # fmt: skip
SOURCE_IDLE_TIMEOUT = declare(
    "table.exec.source.idle-timeout", DURATION, "0 ms",
    "After this time without rows, a source no longer holds watermarks back; 0 for never.",
)  # fmt: skip
ASYNC_CALLS = declare(
    "table.exec.async-scalar.max-concurrent-operations", _POSITIVE, 10,
    "How many calls of an asynchronous function may run at the same time.",
    "table.exec.async-scalar.buffer-capacity",
)  # fmt: skip
ASYNC_TIMEOUT = declare(
    "table.exec.async-scalar.timeout", DURATION, "3 min",
    "How long a call of an asynchronous function may take, including all attempts.",
)  # fmt: skip
ASYNC_RETRY_STRATEGY = declare(
    "table.exec.async-scalar.retry-strategy", choice("NO_RETRY", "FIXED_DELAY"), "FIXED_DELAY",
    "Whether a failed call of an asynchronous function is tried again.",
)  # fmt: skip
ASYNC_RETRY_DELAY = declare(
    "table.exec.async-scalar.retry-delay", DURATION, "100 ms", "The pause before the next attempt."
)
ASYNC_ATTEMPTS = declare(
    "table.exec.async-scalar.max-attempts", _POSITIVE, 3, "Maximum number of attempts for a call."
)
LOOKUP_CALLS = declare(
    "table.exec.async-lookup.buffer-capacity", _POSITIVE, 100,
    "How many asynchronous lookups run at the same time.",
)  # fmt: skip
LOOKUP_TIMEOUT = declare(
    "table.exec.async-lookup.timeout", DURATION, "3 min",
    "How long an asynchronous lookup may take.",
)  # fmt: skip
LOOKUP_OUTPUT_MODE = declare(
    "table.exec.async-lookup.output-mode", choice("ORDERED", "ALLOW_UNORDERED"), "ORDERED",
    "Accepted: rows stay in their order in both modes.",
)  # fmt: skip
MODEL_CALLS = declare(
    "table.exec.async-ml-predict.max-concurrent-operations", _POSITIVE, 10,
    "How many calls of a model run at the same time.",
)  # fmt: skip
MODEL_TIMEOUT = declare(
    "table.exec.async-ml-predict.timeout", DURATION, "3 min",
    "How long a call of a model may take, including all attempts.",
)  # fmt: skip
MODEL_OUTPUT_MODE = declare(
    "table.exec.async-ml-predict.output-mode", choice("ORDERED", "ALLOW_UNORDERED"), "ORDERED",
    "Accepted: rows stay in their order in both modes.",
)  # fmt: skip
SEARCH_CALLS = declare(
    "table.exec.async-vector-search.max-concurrent-operations", _POSITIVE, 10,
    "How many vector searches run at the same time.",
)  # fmt: skip
SEARCH_TIMEOUT = declare(
    "table.exec.async-vector-search.timeout", DURATION, "3 min",
    "How long a vector search may take.",
)  # fmt: skip
SEARCH_OUTPUT_MODE = declare(
    "table.exec.async-vector-search.output-mode", choice("ORDERED", "ALLOW_UNORDERED"), "ORDERED",
    "Accepted: rows stay in their order in both modes.",
)  # fmt: skip

# -- Sinks

CDC_EVENTS_DUPLICATE = declare(
    "table.exec.source.cdc-events-duplicate", BOOLEAN, False,
    "Whether a source of changes may send some of them more than once. Its tables then need a "
    "primary key, and the last row of each key is kept to tell.",
)  # fmt: skip
NOT_NULL_ENFORCER = declare(
    "table.exec.sink.not-null-enforcer", choice("ERROR", "DROP"), "ERROR",
    "What happens to a row with NULL for a column that is NOT NULL: the job fails, or the row is "
    "dropped.",
)  # fmt: skip
TYPE_LENGTH_ENFORCER = declare(
    "table.exec.sink.type-length-enforcer", choice("IGNORE", "TRIM_PAD", "ERROR"), "IGNORE",
    "What happens to text and bytes that do not have the length of their column: they are written "
    "unchanged, they are cut or padded, or the job fails.",
)  # fmt: skip
NESTED_ENFORCER = declare(
    "table.exec.sink.nested-constraint-enforcer", choice("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    "IGNORE", "Whether NOT NULL and lengths are also enforced inside ROW, ARRAY and MAP values.",
)  # fmt: skip
UPSERT_MATERIALIZE = declare(
    "table.exec.sink.upsert-materialize", choice("NONE", "AUTO", "FORCE"), "AUTO",
    "Whether the rows of each key of a sink are kept, so that updates that arrive out of order do "
    "no harm: never, where needed, or for every query that updates.",
)  # fmt: skip
REQUIRE_ON_CONFLICT = declare(
    "table.exec.sink.require-on-conflict", BOOLEAN, True,
    "Whether an INSERT must have ON CONFLICT if rows of the query with different keys may have the "
    "same primary key in the sink.",
)  # fmt: skip

# -- Flink's, without a meaning here

_WITHOUT_MEANING = {
    "rows of a lookup join stay in their order": "table.exec.async-lookup.key-ordered-enabled",
    "there are no asynchronous table functions": """
        table.exec.async-table.max-concurrent-operations table.exec.async-table.max-retries
        table.exec.async-table.retry-delay table.exec.async-table.retry-strategy
        table.exec.async-table.timeout
    """,
    "an epoch merges changes": """
        table.exec.mini-batch.size
        table.exec.deduplicate.insert-update-after-sensitive-enabled
        table.exec.deduplicate.mini-batch.compact-changes-enabled
    """,
    "`parallelism.default` also applies to SQL": "table.exec.resource.default-parallelism",
    "joins are planned in one way": """
        table.exec.delta-join.cache-enabled table.exec.delta-join.left.cache-size
        table.exec.delta-join.right.cache-size table.exec.interval-join.min-cleanup-interval
        table.optimizer.adaptive-broadcast-join.strategy
        table.optimizer.bushy-join-reorder-threshold table.optimizer.delta-join.strategy
        table.optimizer.join-reorder-enabled table.optimizer.join.broadcast-threshold
        table.optimizer.multi-join.enabled table.optimizer.runtime-filter.enabled
        table.optimizer.runtime-filter.max-build-data-size
        table.optimizer.runtime-filter.min-filter-ratio
        table.optimizer.runtime-filter.min-probe-data-size
        table.optimizer.skewed-join-optimization.skewed-factor
        table.optimizer.skewed-join-optimization.skewed-threshold
        table.optimizer.skewed-join-optimization.strategy
    """,
    "the rules of the planner are always the same": """
        table.optimizer.dynamic-filtering.enabled table.optimizer.incremental-agg-enabled
        table.optimizer.multiple-input-enabled
        table.optimizer.ptf.max-tables table.optimizer.reuse-optimize-block-with-digest-enabled
        table.optimizer.reuse-sink-enabled table.optimizer.reuse-source-enabled
        table.optimizer.source.report-statistics-enabled
        table.optimizer.sql2rel.project-merge.enabled
        table.optimizer.union-all-as-breakpoint-enabled table.exec.disabled-operators
        table.exec.operator-fusion-codegen.enabled table.exec.unbounded-over.version
    """,
    "operators manage their memory differently": """
        table.exec.async-state.enabled table.exec.local-hash-agg.adaptive.enabled
        table.exec.local-hash-agg.adaptive.distinct-value-rate-threshold
        table.exec.local-hash-agg.adaptive.sampling-threshold table.exec.rank.topn-cache-size
        table.exec.resource.external-buffer-memory table.exec.resource.hash-agg.memory
        table.exec.resource.hash-join.memory table.exec.resource.sort.memory
        table.exec.sort.async-merge-enabled table.exec.sort.default-limit
        table.exec.sort.max-num-file-handles table.exec.spill-compression.block-size
        table.exec.spill-compression.enabled table.exec.window-agg.buffer-size-limit
        table.generated-code.max-members
    """,
    "sinks do not need this choice": """
        table.exec.sink.keyed-shuffle table.exec.sink.require-on-conflict
        table.exec.sink.rowtime-inserter table.exec.sink.upsert-materialize-strategy.type
        table.exec.sink.upsert-materialize-strategy.adaptive.threshold.high
        table.exec.sink.upsert-materialize-strategy.adaptive.threshold.low
    """,
    "it has no effect": """
        table.catalog-modification.listeners table.column-expansion-strategy
        table.display.max-column-width table.dynamic-table-options.enabled
        table.exec.legacy-cast-behaviour table.exec.simplify-operator-name-enabled
        table.exec.uid.format table.exec.uid.generation
        table.legacy-nested-row-nullability table.plan.compile.catalog-objects
        table.plan.force-recompile table.plan.restore.catalog-objects table.resources.download-dir
        table.rtas-ctas.atomicity-enabled
    """,
}
_KINDS_BY_ENDING: dict[tuple[str, ...], OptionType[Any]] = {
    ("-enabled", ".enabled"): BOOLEAN,
    (".timeout", "-delay", "-latency", "-interval"): DURATION,
    ("data-size", "block-size", "memory"): MEMORY,
    ("default-parallelism", "mini-batch.size", "default-limit"): ranged(LONG, -1),
    ("size", "-limit", "-capacity", "-operations", "-tables", "-handles", "-members", "-width"): (
        ranged(LONG, 1)
    ),
    ("-retries",): ranged(INT, 0),
}
"""What Flink takes for them: a value that it would refuse is refused here, too."""


def _kind(key: str) -> OptionType[Any]:
    return next((kind for ends, kind in _KINDS_BY_ENDING.items() if key.endswith(ends)), STRING)


for _why, _keys in _WITHOUT_MEANING.items():
    for _key in _keys.split():
        declare(_key, _kind(_key), None, f"Accepted for compatibility with Flink: {_why}.")
