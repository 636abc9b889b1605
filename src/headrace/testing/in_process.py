"""Run a program in this process, and look at what it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.common import options
from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.datastream.connectors.print_sink import CollectSink
from headrace.datastream.data_stream import DataStream
from headrace.datastream.operator_settings import transformation_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import JobGraph, build_job_graph
from headrace.graph.transformation import Transformation
from headrace.testing.runner import EpochRecords, MiniRunner

__all__ = ["RunResult", "collect", "run_in_process"]


@dataclass(frozen=True)
class RunResult:
    """What a job did.

    Attributes:
        collected: Records of the streams that were asked for, by name.
        printed: Lines that `print()` sinks wrote.
        accumulators: Values by name.
        epochs: How many epochs the job took.
        records_per_epoch: How many records its sources read in each of them.
        records_out: How many records each operator emitted, by the operator's name.
    """

    collected: dict[str, list[Any]]
    printed: list[str]
    accumulators: dict[str, Any]
    epochs: int
    records_per_epoch: list[int]
    records_out: dict[str, int]

    def __getitem__(self, name: str) -> list[Any]:
        """The records of a stream."""
        return self.collected[name]


def run_in_process(
    env: StreamExecutionEnvironment,
    collect: Mapping[str, DataStream[Any]] | None = None,
    *,
    job_name: str | None = None,
    epoch_records: EpochRecords = 1_000,
    max_epochs: int | None = None,
    restore_after: Collection[int] = (),
    rescale_after: Mapping[int, int] | None = None,
    clock: Callable[[], int] | None = None,
    epoch_ms: int = 1_000,
    shuffle_seed: int | None = None,
) -> RunResult:
    """Runs the program of an environment to its end, without Spark or other processes.

    The job is made of the same subtasks, operators and exchanges as on a cluster. Time is simulated
    unless a clock is
    given: an epoch takes `epoch_ms`, and nobody sleeps while a job waits for a timer.

    Args:
        env: The environment; its program is run and forgotten, as by `execute()`.
        collect: Streams whose records are wanted, by a name of your choice.
        job_name: Name of the job.
        epoch_records: How many records each source subtask reads in an epoch: a number, numbers
            that are repeated in turn, or a function of the number of the epoch (from 1).
        max_epochs: End the job after so many epochs; needed for a source without end.
        restore_after: Numbers of epochs after which the job fails and goes on from its state.
        rescale_after: Numbers of epochs after which somebody asks for another parallelism, with
            that parallelism: one epoch later the job goes on with it, from a savepoint.
        clock: Processing time in milliseconds, for example `lambda: time.time_ns() // 1_000_000`.
        epoch_ms: What an epoch takes in simulated time.
        shuffle_seed: Deliver the data of an epoch in a random order, as Spark may.

    Raises:
        JobExecutionError: A function raised; the error is the same as on a cluster.

    Example:
        >>> words = env.from_collection(["to be", "or not"]).flat_map(str.split)
        >>> run_in_process(env, {"words": words})["words"]
        ['to', 'be', 'or', 'not']
    """
    if not isinstance(env, StreamExecutionEnvironment):
        raise FunctionTypeError(f"run_in_process takes an environment, not {env!r}")
    names = {stream_name: _collected(env, s) for stream_name, s in (collect or {}).items()}
    graph = env.get_stream_graph(job_name, clear=True)
    env.collectors = {}
    job = build_job_graph(graph)
    _check_sources(job)
    runner = MiniRunner(
        job,
        epoch_records=epoch_records,
        clock=clock,
        epoch_ms=epoch_ms,
        shuffle_seed=shuffle_seed,
        job_parameters=dict(env.get_configuration().get(options.GLOBAL_JOB_PARAMETERS)),
        cached_files=dict(env.cached_files),
    )
    runner.run(max_epochs, restore_after, rescale_after)
    services = runner.services
    return RunResult(
        {name: services.collected.get(collect_id, []) for name, collect_id in names.items()},
        services.printed,
        runner.accumulators(),
        runner.epochs,
        runner.records_per_epoch,
        _records_out(runner),
    )


def _check_sources(job: JobGraph) -> None:
    for vertex in job.vertices:
        for chained in vertex.operators:
            source = getattr(chained.spec, "source", None)
            if getattr(source, "fed_by_spark", False):
                raise GraphError(
                    f"{chained.name!r} is read by Spark, which is not available in this process; "
                    "run the job on Spark, or set table.exec.spark-segments to false for a table"
                )


def collect(
    stream: DataStream[Any], *, on: str = "process", limit: int | None = None, **settings: Any
) -> list[Any]:
    """Runs the program that a stream belongs to, and returns the records of the stream.

    Args:
        stream: The stream.
        on: `process` to run it in this process, `spark` for a real job.
        limit: End the job after so many records, if it runs on Spark.
        **settings: For `process`, those of `run_in_process`.

    Example:
        >>> collect(env.from_collection([1, 2, 3]).map(lambda x: x * 2))
        [2, 4, 6]
    """
    if not isinstance(stream, DataStream):
        raise FunctionTypeError(f"collect() takes a DataStream, not {stream!r}")
    if on == "process":
        env = stream.get_execution_environment()
        records = run_in_process(env, {"records": stream}, **settings)["records"]
        return records if limit is None else records[:limit]
    if on != "spark":
        raise FunctionTypeError(f"on must be 'process' or 'spark', not {on!r}")
    if settings:
        raise FunctionTypeError(f"{', '.join(settings)}: only for on='process'")
    if limit is not None:
        limited: list[Any] = stream.execute_and_collect(limit=limit)
        return limited
    with stream.execute_and_collect() as iterator:
        return list(iterator)


def _collected(env: StreamExecutionEnvironment, stream: DataStream[Any]) -> str:
    if stream.get_execution_environment() is not env:
        raise HeadraceError("the stream belongs to another environment")
    collect_id = env.new_collect_id()
    sink = stream.sink_to(CollectSink(collect_id)).name("Sink: Collect")
    parallelism = _parallelism(transformation_of(stream))
    if parallelism is not None:
        sink.set_parallelism(parallelism)
    return collect_id


def _parallelism(transformation: Transformation) -> int | None:
    """That of the operator, so that its records keep their order on the way to the test."""
    while transformation.virtual and len(transformation.inputs) == 1:
        transformation = transformation.inputs[0]
    return None if transformation.virtual else transformation.parallelism


def _records_out(runner: MiniRunner) -> dict[str, int]:
    totals: dict[str, int] = {}
    for report in runner.reports.values():
        for operator in report.operators:
            totals[operator.name] = totals.get(operator.name, 0) + operator.records_out
    return totals
