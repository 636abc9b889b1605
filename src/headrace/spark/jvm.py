"""What stands behind PySpark's objects in the JVM: the place that knows PySpark's names for it."""

from __future__ import annotations

from typing import Any

from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession


def jvm_of(owner: SparkContext | SparkSession) -> Any:
    """The JVM, by the names of its packages."""
    return owner._jvm


def spark_of(context: SparkContext) -> Any:
    """Spark's own context, in Scala."""
    java: Any = context._jsc
    return java.sc()


def java_rdd(rdd: RDD[Any]) -> Any:
    """The JavaRDD."""
    return rdd._jrdd


def java_frame(frame: DataFrame) -> Any:
    """The Dataset."""
    return frame._jdf


def executors(context: SparkContext) -> list[Any]:
    """What Spark knows of each executor that is there, the driver among them."""
    found = spark_of(context).statusStore().executorList(True)
    return [found.apply(i) for i in range(found.size())]


def scala_object(package: Any, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")
