"""A session: catalogs, settings, and how plans are made and run. All public classes share it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.job_client import JobClient
from headrace.common.job_status import JobStatus
from headrace.common.options import ARROW_BATCH_SIZE, BUNDLE_SIZE
from headrace.common.settings import table_options as o
from headrace.common.settings.table_options import zone_key
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.datastream.operator_settings import transformation_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import statements as s
from headrace.sql.binder.context import BindingContext, suggestion
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.queries import QueryBinder
from headrace.sql.binder.relations import renamed, with_unique_names
from headrace.sql.binder.scope import Scope
from headrace.sql.catalog import CatalogManager, TableEntry, TablePath
from headrace.sql.catalog.manager import quoted
from headrace.sql.connectors.base import find_factory
from headrace.sql.models.provider import ModelContext
from headrace.sql.parser.excerpts import Excerpt, located
from headrace.sql.parser.syntax import CastTo
from headrace.sql.parser.unsupported import check_supported_syntax
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.settings import PlanSettings, SinkSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.checks.conflicts import conflict_problem
from headrace.sql.plan.checks.keys import check_keys
from headrace.sql.plan.checks.streams import check_stream
from headrace.sql.plan.checks.temporal import check_no_temporal
from headrace.sql.plan.expressions import Field, Literal, Schema
from headrace.sql.room import with_room
from headrace.sql.rules import optimize
from headrace.sql.session.config import SessionConfig
from headrace.sql.session.models import model_context
from headrace.sql.session.modules import ModuleManager
from headrace.sql.session.refresh_scheduler import RefreshScheduler
from headrace.sql.session.result import ChangedRows, StatementResult, changed_rows
from headrace.sql.session.sink_types import check_types, mismatch
from headrace.sql.session.table_plan import (
    connector_context,
    connector_schema,
    positions,
    scan_plan,
    sink_schema,
)
from headrace.sql.translation.translator import StreamTranslator
from headrace.sql.types import NullType
from headrace.sql.udf.batch_table import CallLimits
from headrace.util.exceptions import TableException

__all__ = ["Session"]


@dataclass(frozen=True)
class SubmittedJob:
    """A job that the session started, for SHOW JOBS."""

    client: JobClient
    name: str
    started_ms: int
    refreshes: bool = False
    """Whether it keeps a materialized table up to date."""

    @property
    def ended(self) -> bool:
        return self.client.get_job_status().result().is_terminal_state()

    @property
    def ended_well(self) -> bool:
        """Whether it is over and nothing is left to say about it."""
        return self.client.get_job_status().result() in (JobStatus.FINISHED, JobStatus.CANCELED)


_MODE = "execution.runtime-mode"
_KEPT_JOBS = 100


class Session:
    """What a table environment works with."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        config: SessionConfig,
        catalogs: CatalogManager,
        batch: bool,
    ) -> None:
        self.env = env
        self.config = config
        self.catalogs = catalogs
        self.batch = batch
        self.modules = ModuleManager()
        self.scheduler = RefreshScheduler()
        self.jobs: list[SubmittedJob] = []
        self.known_jobs: Callable[[], Sequence[SubmittedJob]] = lambda: self.jobs
        """Those that SHOW JOBS lists and STOP JOB ends."""
        self._first = (Configuration(config.get_configuration()), batch)

    def beside(self, namespace: tuple[str, str], settings: Mapping[str, str]) -> Session:
        """A session with the same catalogs seen from a namespace, and some other settings."""
        configuration = Configuration(self.config.get_configuration())
        configuration.add_all(Configuration.from_dict(settings))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.cached_files.update(self.env.cached_files)
        for listener in self.env.get_job_listeners():
            env.register_job_listener(listener)
        batch = configuration.get_string(_MODE, "").lower() == "batch"
        config = SessionConfig(env.get_configuration())
        made = Session(env, config, self.catalogs.permanent(namespace), batch)
        made.modules = self.modules
        return made

    # Settings.

    def set_option(self, key: str, value: str) -> None:
        """Makes a setting, as SET does."""
        if key == _MODE:
            if value.lower() not in ("streaming", "batch"):
                raise SqlError(f"'{key}' is streaming or batch, not '{value}'")
            self.batch = value.lower() == "batch"
        self.config.set(key, value)

    def reset_option(self, key: str | None) -> None:
        """Takes back one setting, or all: they are as when the session began."""
        configuration = self.config.get_configuration()
        first, batch = self._first
        known = first.to_dict()
        for name in [key] if key is not None else [*configuration.key_set(), *known]:
            configuration.remove_config(name)
            if name in known:
                configuration.set_string(name, known[name])
        if key in (None, _MODE):
            self.batch = batch

    @property
    def zone(self) -> str:
        return zone_key(self.config.get_local_timezone())

    def settings(self) -> PlanSettings:
        """Settings that change how plans run."""
        read, millis = self.config.read, self.config.millis
        # Net changes of an epoch unless somebody wants every single one.
        every = read(o.MINI_BATCH_ENABLED) is False and not self.batch
        retried = read(o.ASYNC_RETRY_STRATEGY) != "NO_RETRY"
        return PlanSettings(
            zone=self.zone,
            batch=self.batch,
            state_ttl_ms=millis(o.STATE_TTL),
            every_change=every,
            watermark_interval_ms=self.env.get_config().get_auto_watermark_interval(),
            two_phase=read(o.AGG_PHASE_STRATEGY) != "ONE_PHASE",
            idle_timeout_ms=millis(o.SOURCE_IDLE_TIMEOUT),
            arrow_batch_size=read(ARROW_BATCH_SIZE),
            bundle_size=read(BUNDLE_SIZE),
            concurrent_calls=read(o.ASYNC_CALLS),
            call_timeout_ms=millis(o.ASYNC_TIMEOUT),
            call_attempts=read(o.ASYNC_ATTEMPTS) if retried else 1,
            call_retry_delay_ms=millis(o.ASYNC_RETRY_DELAY),
            concurrent_lookups=read(o.LOOKUP_CALLS),
            lookup_timeout_ms=millis(o.LOOKUP_TIMEOUT),
            model_calls=CallLimits(read(o.MODEL_CALLS), millis(o.MODEL_TIMEOUT)),
            search_calls=CallLimits(read(o.SEARCH_CALLS), millis(o.SEARCH_TIMEOUT)),
            reuse_subplans=read(o.REUSE_SUB_PLAN_ENABLED),
            pushdown=read(o.PREDICATE_PUSHDOWN_ENABLED),
            multi_join=read(o.MULTI_JOIN_ENABLED),
            keep_lookups=read(o.UPDATE_STRATEGY) == "TRY_RESOLVE",
            configuration=self.env.get_configuration(),
            spark_segments=read(o.SPARK_SEGMENTS),
            sinks=SinkSettings(
                drop_null=read(o.NOT_NULL_ENFORCER) == "DROP",
                lengths=read(o.TYPE_LENGTH_ENFORCER),
                nested=read(o.NESTED_ENFORCER),
                materialize=read(o.UPSERT_MATERIALIZE),
            ),
        )

    def binding(self, text: str = "", namespace: tuple[str, str] | None = None) -> BindingContext:
        """The surroundings of a statement; a view has its own catalog and database."""

        def find_table(path: tuple[str, ...], options: dict[str, str]) -> n.Node | None:
            return self.find_table(self.catalogs.full_path(path, namespace), options)

        def find_function(path: tuple[str, ...]) -> Any:
            parts = tuple(".".join(path).split("."))
            if len(parts) == 1 and self.modules.has_built_in(parts[0]):
                found = self.catalogs.find_system_function(parts[0])
            else:
                found = self.catalogs.find_function(parts, namespace)
            if found is None and len(parts) == 1:
                found = self.modules.find_function(parts[0])
                if found is not None:
                    # Spark says what the function takes and gives.
                    self.env.get_spark_session()
            return found

        def find_model(path: tuple[str, ...]) -> ModelContext | None:
            return self.find_model(self.catalogs.full_path(path, namespace))

        return BindingContext(
            text=text,
            find_table=find_table,
            find_function=find_function,
            find_model=find_model,
            table_names=self.catalogs.list_tables,
            model_names=self.catalogs.list_models,
            function_names=self.catalogs.user_functions,
            zone=self.zone,
            batch=self.batch,
            database=self.catalogs.current_database or "",
            catalog=self.catalogs.current_catalog or "",
            distinct_buckets=self._distinct_buckets(),
            duplicate_changes=self.config.read(o.CDC_EVENTS_DUPLICATE),
        )

    def _distinct_buckets(self) -> int:
        if self.batch or not self.config.read(o.DISTINCT_SPLIT_ENABLED):
            return 0
        buckets: int = self.config.read(o.DISTINCT_SPLIT_BUCKETS)
        return buckets

    # Plans.

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str], *, unread: bool = False
    ) -> n.Node | None:
        """The plan of a table or view; it may be unreadable if it may stay `unread`."""
        entry = self.catalogs.find_table(path)
        if entry is None:
            return None
        if entry.is_view and options:
            raise SqlError(
                f"View '{quoted(self.catalogs.full_path(path))}' cannot be enriched with new "
                "options. Hints can only be applied to tables."
            )
        if entry.plan is not None:
            plan: n.Node = entry.plan
            return plan
        if entry.view_text is not None:
            return self.view_plan(entry)
        full = self.catalogs.full_path(path)
        rows = self.catalogs.known_rows(full, entry) if self.batch else None
        return scan_plan(full, entry, options, self.binding(), rows, unread=unread)

    def find_model(self, path: TablePath) -> ModelContext | None:
        """A model as its provider sees it."""
        entry = self.catalogs.find_model(path)
        return None if entry is None else model_context(path, entry, self.zone)

    @with_room
    def view_plan(self, entry: TableEntry) -> n.Node:
        """The plan of a view's text."""
        text = entry.view_text or ""
        statement = parse_statement(text)
        assert isinstance(statement, s.Query)
        context = self.binding(text, entry.namespace)
        plan = QueryBinder(context).bind(statement.tree)
        return renamed(context, plan, [c.name for c in entry.columns])

    @with_room
    def without_stars(self, text: str) -> str:
        """The text of a query that keeps its columns when its tables get other ones."""
        context = replace(self.binding(text), stars={})
        statement = parse_statement(text)
        assert isinstance(statement, s.Query)
        QueryBinder(context).bind(statement.tree)
        for (start, end), columns in sorted((context.stars or {}).items(), reverse=True):
            names = [
                quoted(path) + (f" AS {quoted([name])}" if name != path[-1] else "")
                for path, name in columns
            ]
            text = text[:start] + ", ".join(names) + text[end + 1 :]
        return text

    def query_plan(self, tree: Any, text: str) -> n.Node:
        """The plan of a query whose columns have different names."""
        return with_unique_names(self.written_plan(tree, text))

    @with_room
    def written_plan(self, tree: Any, text: str) -> n.Node:
        """The plan of a query whose columns have the names that it gives them."""
        try:
            check_supported_syntax(tree, text)
            return QueryBinder(self.binding(text)).bind(tree)
        except SqlError as error:
            located(error, text)
            raise

    def insert_plan(self, insert: s.Insert, text: str) -> n.Sink:
        """The plan of an INSERT."""
        query = self.query_plan(insert.query, text)
        return self.sink_plan(
            insert.path,
            query,
            columns=insert.columns,
            options=insert.hints,
            overwrite=insert.overwrite,
            partition=insert.partition,
            conflict=insert.conflict,
            text=text,
        )

    @with_room
    def sink_plan(
        self,
        path: Sequence[str],
        query: n.Node,
        *,
        columns: Sequence[str] = (),
        options: dict[str, str] | None = None,
        overwrite: bool = False,
        partition: dict[str, Any] | None = None,
        conflict: s.OnConflict | None = None,
        text: str = "",
    ) -> n.Sink:
        """Writes a query's rows to a table; the plan is checked, and optimized with its job's."""
        entry = self.catalogs.find_table(path)
        if entry is None or entry.is_view:
            hint = suggestion(path[-1], self.catalogs.near(self.catalogs.full_path(path)))
            raise SqlError(
                f"Cannot find table '{quoted(self.catalogs.full_path(path))}' in any of the "
                f"catalogs [{', '.join(self.catalogs.registry.names())}], nor as a temporary "
                f"table{hint}"
            )
        full = self.catalogs.full_path(path)
        binding = self.binding()
        context = connector_context(full, entry, options or {}, binding, sink=True)
        factory = find_factory(context.options, context.name)
        sink = factory.create_sink(context, overwrite)
        if overwrite and not sink.overwrites:
            raise SqlError(
                f"INSERT OVERWRITE requires a sink that can replace what it has; that of table "
                f"'{'.'.join(full)}' cannot. Use INSERT INTO"
            )
        if entry.distribution is not None:
            raise SqlError(
                f"Table '{'.'.join(full)}' is distributed into buckets, but its connector cannot "
                "write buckets. Make the table without DISTRIBUTED"
            )
        declared = sink_schema(entry)
        plan = self.fitted(query, declared, columns, ".".join(full), partition or {})
        stored = connector_schema(context, factory)
        if stored != declared:
            plan = self.fitted(plan, stored, (), ".".join(full), {})
            declared = stored
        keys = tuple(plan.schema.names.index(k) for k in entry.primary_key)
        action = None if conflict is None else conflict.action
        node = n.Sink(plan.schema, plan, full, sink, declared, keys, action)
        self.check_sink(node, Excerpt(text, None if conflict is None else conflict.span))
        return node

    @with_room
    def check(self, plan: n.Node) -> None:
        """Refuses an optimized plan that cannot run in the session's mode."""
        check_keys(plan)
        if self.batch:
            check_no_temporal(plan)
        else:
            check_stream(plan)

    @with_room
    def check_sink(self, sink: n.Sink, origin: Excerpt | None = None) -> None:
        """Refuses a sink that cannot take what its query gives; `origin` is of ON CONFLICT."""
        # Which keys a query has is known of the nodes that run, such as a ranking.
        plan, target, name = optimize(sink.input), sink.target, ".".join(sink.table)
        self.check(plan)
        if self.batch:
            return
        if not target.accepts_updates and not is_append_only(plan):
            culprit = next(x for x in _walk(plan) if not is_append_only(x))
            grows = isinstance(culprit, n.Aggregate) and all(map(is_append_only, culprit.inputs))
            kinds = "update" if grows else "update and delete"
            raise TableException(
                f"Table sink '{name}' doesn't support consuming {kinds} changes which is "
                f"produced by node {type(culprit).__name__}("
                f"{', '.join(culprit.schema.names)})"
                + (f": {target.refusal}" if target.refusal else "")
            )
        required = self.config.read(o.REQUIRE_ON_CONFLICT)
        automatic = self.config.read(o.UPSERT_MATERIALIZE) == "AUTO"
        problem = conflict_problem(replace(sink, input=plan), required and automatic)
        if problem is not None:
            raise SqlError(problem) if origin is None else origin.error(problem)

    def fitted(
        self,
        query: n.Node,
        schema: Schema,
        columns: Sequence[str],
        table: str,
        partition: dict[str, Any],
    ) -> n.Node:
        """The query's columns in the order and types of a table."""
        context = self.binding()
        scope = Scope(context)
        scope.add(None, query.schema)
        binder = ExpressionBinder(context, scope)
        given = list(columns) or [x for x in schema.names if x not in partition]
        if len(given) != len(query.schema):
            raise mismatch(table, "Different number of columns.", query.schema, schema)
        places = positions(schema.names, given, table)
        expressions: list[Any] = [Literal(NullType(), None)] * len(schema)
        for source, place in zip(query.schema.columns(), places, strict=True):
            expressions[place] = source
        for name, node in partition.items():
            (place,) = positions(schema.names, [name], table)
            expressions[place] = binder.bind(CastTo(node, schema[place].type))
        check_types(table, query.schema, expressions, schema)
        fitted = [binder.coerce(e, f.type) for e, f in zip(expressions, schema, strict=True)]
        return n.Project.of(query, fitted, schema.names)

    # Running.

    def translator(self) -> StreamTranslator:
        return StreamTranslator(self.env, self.settings())

    def run_query(self, plan: n.Node) -> StatementResult:
        """Starts a query; its rows come while it runs."""
        translator = self.translator()
        settings = translator.settings
        plan = optimize(plan, reuse=settings.reuse_subplans, every_change=settings.every_change)
        self.check(plan)
        schema = plan.schema
        changelog = translator.takes_changes(plan)
        stream = translator.stream(plan)
        collect_id = self.env.new_collect_id()
        sink = stream.sink_to(CollectSink(collect_id)).name("Sink: Collect")
        transformation_of(sink).parallelism = transformation_of(stream).parallelism
        collector = self.env.collectors[collect_id]
        name = self._job_name("collect")
        master = self.env.submit(name)
        client = self._submitted(JobClient(master), name)

        def rows() -> ChangedRows:
            return changed_rows(collector, changelog)

        def close() -> None:
            collector.abandon()
            if not master.status().is_terminal_state():
                client.cancel().result()

        tableau = {"kinds": not self.batch}
        return StatementResult(
            _without_time(schema),
            rows,
            job_client=client,
            zone=self.zone,
            tableau=tableau,
            close=close,
            wait=_waiter(client),
        )

    def run_inserts(self, plans: Sequence[n.Sink]) -> StatementResult:
        """Starts one job that writes to some tables."""
        self.translator().translate(*plans)
        names = [".".join(plan.table) for plan in plans]
        job = "insert-into_" + ",".join(names)
        name = self._job_name(job)
        client = self._submitted(JobClient(self.env.submit(name)), name)
        result = StatementResult.of_job(client, names, _waiter(client))
        if self.config.read(o.DML_SYNC):
            client.get_job_execution_result().result()
        return result

    def _submitted(self, client: JobClient, name: str) -> JobClient:
        self.keep_job(SubmittedJob(client, name, time.time_ns() // 1_000_000))
        return client

    def keep_job(self, job: SubmittedJob) -> None:
        """Lists a job that was started."""
        if len(self.jobs) >= _KEPT_JOBS:
            # A session of a server may last for months; failed jobs are told about at its end.
            old = next((known for known in self.jobs if known.ended_well), None)
            self.jobs = [known for known in self.jobs if known is not old]
        self.jobs.append(job)

    def running_job(self, job_id: str) -> JobClient | None:
        """A job that this session started or another one, unless it has ended."""
        for job in self.known_jobs():
            if str(job.client.get_job_id()) == job_id:
                return None if job.ended else job.client
        return self.env.running_job(job_id)

    @property
    def keeps_tables_fresh(self) -> bool:
        """Whether materialized tables depend on this session: on its clock, or its catalogs."""
        return bool(self.scheduler) or any(j.refreshes and not j.ended for j in self.jobs)

    def _job_name(self, default: str) -> str:
        return self.config.get("pipeline.name", default)


def _waiter(client: JobClient) -> Callable[[float | None], None]:
    def wait(timeout: float | None) -> None:
        client.get_job_execution_result().result(timeout)

    return wait


def _walk(node: n.Node) -> Iterator[n.Node]:
    for child in node.inputs:
        yield from _walk(child)
    yield node


def _without_time(schema: Schema) -> Schema:
    return Schema(tuple(Field(f.name, f.type) for f in schema))
