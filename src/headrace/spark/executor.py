"""Runs job graphs on Spark. Looked up late by the environment, so that building a program needs no Java."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.time import to_millis
from headrace.coordination.dependencies import prepare
from headrace.coordination.job_master import (
    EpochSummary,
    JobMaster,
    JobMasterOptions,
    python_path,
)
from headrace.coordination.outputs import Collector
from headrace.graph.job_graph import JobGraph
from headrace.spark.carrier import SparkCarrier
from headrace.spark.session import get_or_create_session


def submit(
    job_graph: JobGraph,
    configuration: Configuration,
    *,
    collectors: dict[str, Collector] | None = None,
    cached_files: dict[str, str] | None = None,
    on_epoch: Callable[[EpochSummary], None] | None = None,
) -> JobMaster:
    """Start a job and return its master."""
    session = get_or_create_session(options.spark_properties(configuration))
    dependencies = prepare(configuration)
    job_options = JobMasterOptions(
        epoch_target_s=to_millis(configuration.get(options.EPOCH_TARGET)) / 1000,
        epoch_max_records=configuration.get(options.EPOCH_MAX_RECORDS),
        python_path=(*python_path(), *dependencies.last_python_path),
        preload=tuple(configuration.get(options.PYTHON_PRELOAD)),
        job_parameters=dict(configuration.get(options.GLOBAL_JOB_PARAMETERS)),
        cached_files=cached_files or {},
        dependencies=dependencies,
    )
    master = JobMaster(
        job_graph,
        SparkCarrier(session.sparkContext),
        job_options,
        collectors=collectors,
        on_epoch=on_epoch,
    )
    master.result_future().add_done_callback(lambda _: dependencies.close())
    master.start()
    return master
