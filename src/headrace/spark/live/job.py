"""The long Spark job: two stages, joined by the pipelined shuffle of Spark 4.3.

    slots at place i -> producing task i  ==>  consuming task j -> slots at place j

Both stages run at the same time, which Spark guarantees or refuses. They are two because a task
that reads and writes holds its output back until it has read everything.

Only classes of Spark's own jars are used, through py4j.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext

from headrace.runtime.slot.protocol import Carriage
from headrace.spark.jvm import java_rdd, jvm_of, scala_object, spark_of
from headrace.spark.live.tasks import InputOfSlots, OutputOfSlots, Produce, StreamItself
from headrace.spark.placement import drawn_to

__all__ = ["live_job"]


def live_job(
    context: SparkContext, carriage: Carriage, locations: Sequence[str | None]
) -> RDD[Any]:
    """The RDD of a job that runs until all slots have hung up.

    Args:
        context: Spark.
        carriage: The slots.
        locations: The executor at which each task should run; nothing on one machine.
    """
    _expect_long_rows(context)
    tasks = max(carriage.hosts) + 1
    start: RDD[Any] = context.parallelize(range(tasks), tasks)
    if locations:
        start = drawn_to(start, locations)
    produced = start.mapPartitionsWithIndex(Produce())
    produced._jrdd_deserializer = OutputOfSlots(carriage)  # type: ignore[assignment]
    frames: RDD[Any] = RDD(_pipelined(context, produced, tasks), context, StreamItself())  # type: ignore[arg-type]
    if locations:
        frames = drawn_to(frames, locations)
    # The streaming shuffle wants to know a query for its logs.
    context.setLocalProperty("spark.sql.execution.id", "0")
    return frames.mapPartitionsWithIndex(InputOfSlots(carriage))


def _expect_long_rows(context: SparkContext) -> None:
    """Spark would say in its log each second that frames are longer than its buffers."""
    logging = jvm_of(context).org.apache.logging.log4j
    writer = "org.apache.spark.shuffle.streaming.StreamingShuffleWriter"
    # Whoever logs with something else has these lines.
    with contextlib.suppress(Py4JError, TypeError):
        logging.core.config.Configurator.setLevel(writer, logging.Level.ERROR)


def _pipelined(context: SparkContext, produced: RDD[Any], tasks: int) -> Any:
    """The values of pairs behind a pipelined shuffle, as a JavaRDD of bytes."""
    jvm = jvm_of(context)
    spark = jvm.org.apache.spark
    pairs = jvm.PairwiseRDD(java_rdd(produced).rdd())
    partitioner = jvm.PythonPartitioner(tasks, 0)
    anything = scala_object(jvm.scala.reflect, "ClassTag").AnyRef()
    none = scala_object(jvm.scala, "None")
    defaults = scala_object(spark, "PipelinedShuffleDependency")
    dependency = spark.PipelinedShuffleDependency(
        pairs,
        partitioner,
        spark.serializer.JavaSerializer(spark_of(context).conf()),
        none,
        none,
        False,
        getattr(defaults, "$lessinit$greater$default$7")(),
        getattr(defaults, "$lessinit$greater$default$8")(),
        anything,
        anything,
        anything,
    )
    shuffled = spark.rdd.ShuffledRDD(pairs, partitioner, anything, anything, anything)
    # It makes a dependency of its own unless it has one, and no constructor takes one.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    field = loader.loadClass("org.apache.spark.rdd.RDD").getDeclaredField("dependencies_")
    field.setAccessible(True)
    dependencies = jvm.java.util.ArrayList()
    dependencies.add(dependency)
    field.set(shuffled, jvm.PythonUtils.toSeq(dependencies))
    return jvm.PythonRDD.valueOfPair(
        spark.api.java.JavaPairRDD.fromRDD(shuffled, anything, anything)
    )
