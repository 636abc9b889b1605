"""Where slots are, and how Spark's tasks are drawn to them.

The small result of the job that starts slots is cached, so Spark itself knows on which executor
each of them is. Partitions of an epoch are then zipped with empty ones that prefer these executors.
A task that lands elsewhere all the same reaches its slot over the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pyspark import RDD, SparkContext

from headrace.spark.jvm import executors, java_rdd, jvm_of, scala_object, spark_of

_SETTLED_S = 3.0
_MOST_S = 30.0
_LOOK_S = 0.1
_EXECUTOR = "executor_"
"""What a preferred location begins with that names an executor: its host and its id follow."""


def is_cluster(context: SparkContext) -> bool:
    """Whether executors may be on other hosts than the driver."""
    return not (context.master or "").startswith("local")


def wait_for_executors(context: SparkContext, tasks: Callable[[int], int]) -> None:
    """Wait until there is a core for each task, or no executor has come for a while.

    Executors of a new application, or those that replace lost ones, come one after the other: the
    first would get all slots.

    Args:
        context: Spark.
        tasks: How many tasks there will be with so many executors.
    """
    began = changed = time.monotonic()
    known = -1
    while (cores := sum(found := _cores(context))) < tasks(len(found)):
        now = time.monotonic()
        if cores != known:
            known, changed = cores, now
        settled = cores > 0 and now - changed > _SETTLED_S
        if settled or now - began > _MOST_S:
            return
        time.sleep(_LOOK_S)


def _cores(context: SparkContext) -> list[int]:
    """Of each executor."""
    return [e.totalCores() for e in executors(context) if e.id() != "driver"]


def locations_of(cached: RDD[Any]) -> list[str | None]:
    """The executor of each partition of a cached RDD, as Spark names preferred locations."""
    spark = spark_of(cached.context)
    # What it knew before the job, it would not look up again.
    spark.dagScheduler().clearCacheLocs()
    java = java_rdd(cached).rdd()
    found = (spark.getPreferredLocs(java, i) for i in range(cached.getNumPartitions()))
    return [None if places.isEmpty() else places.head().toString() for places in found]


def without_lost(context: SparkContext, locations: Sequence[str | None]) -> list[str | None]:
    """The same places, with hosts in place of executors that are gone.

    Spark would wait for these as long as for one that is busy (`spark.locality.wait`, 3 s).
    """
    backend = spark_of(context).schedulerBackend()

    def known(location: str | None) -> str | None:
        if location is None or not location.startswith(_EXECUTOR):
            return location
        host, _, executor = location.removeprefix(_EXECUTOR).rpartition("_")
        return location if backend.isExecutorActive(executor) else host

    return [known(location) for location in locations]


def drawn_to(rdd: RDD[Any], locations: Sequence[str | None]) -> RDD[Any]:
    """The same RDD, whose partitions prefer these executors."""
    context = rdd.context
    jvm = jvm_of(context)
    assert jvm is not None
    bytes_tag = scala_object(jvm.scala.reflect, "ClassTag").apply(jvm.java.lang.Class.forName("[B"))
    wishes = jvm.java.util.ArrayList()
    for location in locations:
        hosts = jvm.java.util.ArrayList()
        if location is not None:
            hosts.add(location)
        wishes.add(jvm.scala.Tuple2(b"", jvm.PythonUtils.toSeq(hosts)))
    anchors = spark_of(context).makeRDD(jvm.PythonUtils.toSeq(wishes), bytes_tag)
    second = _second(context)
    drawn = anchors.zipPartitions(java_rdd(rdd).rdd(), False, second, bytes_tag, bytes_tag)
    java = jvm.org.apache.spark.api.java.JavaRDD(drawn, bytes_tag)
    return RDD(java, context, rdd._jrdd_deserializer)


def _second(context: SparkContext) -> Any:
    """The Scala function `(first, second) => second`, made of what Scala's library has.

    A map without entries whose default is the identity takes anything to the identity.
    """
    jvm, gateway = jvm_of(context), context._gateway
    assert jvm is not None
    assert gateway is not None
    identity = getattr(scala_object(jvm.scala, "Predef"), "$conforms")()
    always = scala_object(jvm.scala.collection.immutable, "Map").empty().withDefaultValue(identity)
    functions = scala_object(jvm.scala, "Function")
    # There are several methods of this name, which differ in what they return alone: a plain call
    # would get any of them.
    uncurried = next(
        method
        for method in functions.getClass().getMethods()
        if method.getName() == "uncurried" and method.getReturnType().getName() == "scala.Function2"
    )
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = always
    return uncurried.invoke(functions, arguments)
