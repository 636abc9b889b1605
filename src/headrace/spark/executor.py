"""Runs job graphs on Spark.

It is looked up late by the environment, so that building a program needs no Java.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.files.rolling_log import LogLimit
from headrace.common.job_client import JobHandle
from headrace.common.restart_strategy import RestartStrategies
from headrace.common.settings import table_options
from headrace.common.settings.secrets import without_secrets
from headrace.common.time import to_millis
from headrace.coordination.access.interrupts import end_quietly, note_job
from headrace.coordination.access.job_control import publish
from headrace.coordination.access.program_jobs import EarlierRun, EndedJob, next_job
from headrace.coordination.carrier import SlotEnvironment
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.job.master import JobMaster
from headrace.coordination.job.options import EpochSummary, JobMasterOptions, python_path
from headrace.coordination.job.outputs import Collector
from headrace.coordination.job.restart_policy import restart_policy
from headrace.coordination.slots.dependencies import PythonDependencies, prepare
from headrace.coordination.slots.heartbeats import HeartbeatSettings
from headrace.coordination.views.metric_reporters import start_reporters
from headrace.graph.job_graph import JobGraph
from headrace.runtime.slot.messages import Close
from headrace.runtime.state.factory import StateBackendSettings
from headrace.runtime.storage import Storages
from headrace.runtime.subtask_figures import MetricSettings
from headrace.spark.idle.client import idle_seconds
from headrace.spark.live.choice import carrier_of, live_settings, session_settings
from headrace.spark.placement import is_cluster
from headrace.spark.session import choose_python, get_or_create_context


def submit(
    job_graph: JobGraph,
    configuration: Configuration,
    *,
    collectors: dict[str, Collector] | None = None,
    cached_files: dict[str, str] | None = None,
    on_epoch: Callable[[EpochSummary], None] | None = None,
) -> JobHandle:
    """Start a job."""
    end_quietly()
    run = next_job(Storages.from_configuration(configuration))
    if run.ended is not None and not collectors:
        return EndedJob(run.ended)
    if run.parallelism is not None:
        job_graph = job_graph.rescaled(run.parallelism)
    if (executable := configuration.get(options.PYTHON_EXECUTABLE)) is not None:
        choose_python(executable)
    context = get_or_create_context(
        session_settings(configuration), LogLimit.of(configuration), idle_seconds(configuration)
    )
    if is_cluster(context):
        _require_shared_checkpoints(configuration)
    dependencies = prepare(configuration)
    live = live_settings(configuration, job_graph, context)
    master = JobMaster(
        job_graph,
        carrier_of(context, live, dependencies.paths),
        _master_options(configuration, dependencies, cached_files or {}, run),
        collectors=collectors,
        on_epoch=on_epoch,
    )
    master.result_future().add_done_callback(lambda _: dependencies.close())
    publish(master)
    note_job(master, collecting=bool(collectors))
    start_reporters(configuration, master)
    master.start()
    return master


def _require_shared_checkpoints(configuration: Configuration) -> None:
    settings = _checkpoint_settings(configuration)
    if settings.enabled and settings.directory is None:
        raise ConfigurationError(
            "checkpoints on a cluster need a place that all hosts reach: set "
            f"{options.CHECKPOINTING_DIR.key} to a shared directory or a URL such as s3://...",
            key=options.CHECKPOINTING_DIR.key,
        )


def _master_options(
    configuration: Configuration,
    dependencies: PythonDependencies,
    cached_files: dict[str, str],
    run: EarlierRun | None = None,
) -> JobMasterOptions:
    get = configuration.get
    run = run or EarlierRun()
    checkpoints = _checkpoint_settings(configuration)
    strategy = RestartStrategies.from_configuration(configuration)
    return JobMasterOptions(
        epoch_target_s=to_millis(get(options.EPOCH_TARGET)) / 1000,
        epoch_max_records=get(options.EPOCH_MAX_RECORDS),
        live_linger_s=_live_linger_ms(configuration) / 1000,
        buffer_memory=get(options.LIVE_BUFFER_MEMORY),
        heartbeats=HeartbeatSettings(
            to_millis(get(options.HEARTBEAT_INTERVAL)) / 1000,
            to_millis(get(options.HEARTBEAT_TIMEOUT)) / 1000,
        ),
        cancellation=Close(
            to_millis(get(options.TASK_CANCELLATION_INTERVAL)) / 1000,
            # As in Flink, 0 means no limit.
            to_millis(get(options.TASK_CANCELLATION_TIMEOUT)) / 1000 or None,
        ),
        slots=SlotEnvironment(
            python_path=(*python_path(), *dependencies.last_python_path),
            preload=tuple(get(options.PYTHON_PRELOAD)),
            first_python_path=dependencies.python_path,
            working_directory=dependencies.working_directory,
        ),
        job_parameters=dict(get(options.GLOBAL_JOB_PARAMETERS)),
        cached_files=cached_files,
        state_backend=StateBackendSettings.from_configuration(configuration),
        checkpoints=checkpoints,
        metrics=MetricSettings(
            get(options.METRICS_ENABLED), to_millis(get(options.METRICS_LATENCY_INTERVAL))
        ),
        restarts=restart_policy(strategy, checkpoints.enabled),
        restore_path=run.checkpoints or get(options.SAVEPOINT_PATH),
        commit_marker=get(options.COMMIT_MARKER),
        allow_unmatched_state=get(options.SAVEPOINT_IGNORE_UNCLAIMED),
        claim_restored=get(options.RESTORE_MODE) == "CLAIM",
        run=run,
        settings=without_secrets(configuration.to_dict()),
    )


def _live_linger_ms(configuration: Configuration) -> int:
    get = configuration.get
    linger_ms = to_millis(get(options.LIVE_LINGER))
    if not get(table_options.MINI_BATCH_ENABLED):
        return linger_ms
    return max(linger_ms, to_millis(get(table_options.MINI_BATCH_LATENCY)))


def _checkpoint_settings(configuration: Configuration) -> CheckpointSettings:
    get = configuration.get
    interval = get(options.CHECKPOINTING_INTERVAL)
    retention = str(get(options.EXTERNALIZED_CHECKPOINT_RETENTION))
    return CheckpointSettings(
        interval_ms=None if interval is None else to_millis(interval),
        min_pause_ms=to_millis(get(options.CHECKPOINTING_MIN_PAUSE)),
        timeout_ms=to_millis(get(options.CHECKPOINTING_TIMEOUT)),
        max_concurrent=get(options.CHECKPOINTING_MAX_CONCURRENT),
        tolerable_failures=get(options.CHECKPOINTING_TOLERABLE_FAILURES),
        retained=get(options.CHECKPOINTS_NUM_RETAINED),
        directory=get(options.CHECKPOINTING_DIR),
        savepoint_directory=get(options.SAVEPOINT_DIR),
        keep_on_cancellation=retention.startswith("RETAIN"),
        storages=Storages.from_configuration(configuration),
        incremental=get(options.CHECKPOINTING_INCREMENTAL),
        compress=get(options.SNAPSHOT_COMPRESSION),
        local_recovery=get(options.LOCAL_RECOVERY),
        local_directory=get(options.LOCAL_BACKUP_DIRS),
        most_increments=get(options.CHECKPOINTING_MAX_INCREMENTS),
        unaligned=(
            get(options.UNALIGNED_ENABLED) and get(options.CHECKPOINTING_MODE) == "EXACTLY_ONCE"
        ),
        aligned_timeout_ms=to_millis(get(options.ALIGNED_CHECKPOINT_TIMEOUT)),
    )
