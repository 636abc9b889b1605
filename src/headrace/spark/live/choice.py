"""Whether a job is carried live, or epoch by epoch."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyspark import SparkContext

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.time import to_millis
from headrace.coordination.slots.live import LiveSettings
from headrace.graph.job_graph import JobGraph
from headrace.graph.specs import SourceSpec
from headrace.spark.carrier import SparkCarrier
from headrace.spark.live.carrier import TASKS, LiveSparkCarrier, task_room
from headrace.spark.live.frame_by_frame import FRAME_BY_FRAME
from headrace.spark.session import is_this_process, local_threads

_log = logging.getLogger(__name__)

_REFUSED = ("spark.dynamicAllocation.enabled", "spark.speculation")
"""With these, Spark refuses a job with a pipelined shuffle."""
_OTHERS_IN_BLOCKS = {"spark.sql.execution.pandas.udf.buffer.size": "65536"}
"""Executors have one buffer size for all that they run. This is the part that can be kept."""
_LOCAL_ROOM = 8
"""Tasks that a local Spark may run beside what its master says. The two of a live job wait most of
the time, and others need not wait for them."""


def carrier_of(
    context: SparkContext, live: LiveSettings | None, paths: Iterable[str]
) -> SparkCarrier:
    """What carries a job."""
    if live is None:
        return SparkCarrier(context, paths)
    return LiveSparkCarrier(context, live, paths)


def session_settings(configuration: Configuration) -> dict[str, str]:
    """Settings for a session that is made for jobs with a configuration."""
    settings = options.spark_properties(configuration)
    carrier, master = configuration.get(options.CARRIER), configuration.get(options.SPARK_MASTER)
    if carrier == "epochs":
        return settings
    if not is_this_process(master):
        return {**FRAME_BY_FRAME, **_OTHERS_IN_BLOCKS, **settings}
    threads = local_threads(master)
    if threads is None:
        return settings
    usual = {"spark.default.parallelism": str(threads)}
    return {**usual, **settings, "spark.master": f"local[{threads + _LOCAL_ROOM}]"}


def live_settings(
    configuration: Configuration, job_graph: JobGraph, context: SparkContext
) -> LiveSettings | None:
    """How the job is carried live; None if it is carried epoch by epoch.

    Raises:
        ConfigurationError: If the user demands what is not possible.
    """
    wanted = configuration.get(options.CARRIER)
    if wanted == "epochs":
        return None
    demanded = wanted == "live"
    if not demanded and not _unbounded(job_graph):
        return None
    fed = _fed(job_graph)
    why_not = fed or _missing(context)
    if why_not is None:
        idle_s = to_millis(configuration.get(options.LIVE_IDLE_TIMEOUT)) / 1000
        return LiveSettings(demanded, idle_s)
    if demanded:
        raise ConfigurationError(
            f"{options.CARRIER.key} is live, but {why_not}", key=options.CARRIER.key, value=wanted
        )
    # What Spark lacks can be changed.
    level = logging.INFO if fed else logging.WARNING
    _log.log(level, "%s is carried epoch by epoch: %s", job_graph.job_name, why_not)
    return None


def _sources(job_graph: JobGraph) -> list[SourceSpec]:
    specs = (vertex.operators[0].spec for vertex in job_graph.vertices)
    return [spec for spec in specs if isinstance(spec, SourceSpec)]


def _unbounded(job_graph: JobGraph) -> bool:
    return not all(spec.source.bounded for spec in _sources(job_graph))


def _fed(job_graph: JobGraph) -> str | None:
    if any(spec.source.reads_whole_splits for spec in _sources(job_graph)):
        return "one of its sources is read in large parts, with a job of Spark for each epoch"
    return None


def _missing(context: SparkContext) -> str | None:
    """What this Spark lacks."""
    release = tuple(map(int, context.version.split(".")[:2]))
    if release < (4, 3):
        return f"it needs Spark 4.3 or newer, and this is Spark {context.version}"
    conf = context.getConf()
    for key in _REFUSED:
        if conf.get(key, "false") == "true":
            return f"Spark cannot do that with {key}=true: set it to false"
    if not is_this_process(context.master or ""):
        # Executors look these up in settings that they were started with.
        for key, value in FRAME_BY_FRAME.items():
            if conf.get(key) != value:
                return (
                    f"the executors were not started with {key}={value}: set that when the Spark "
                    "session is made"
                )
        # They may still have to come. Spark says then whether there is room.
        return None
    room = task_room(context)
    if room < TASKS:
        return (
            f"it needs room for {TASKS} tasks, and {context.master} has it for {room}: start Spark "
            f"with local[{TASKS + 1}] or more"
        )
    return None
