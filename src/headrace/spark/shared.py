"""One Spark application for the processes of several jobs.

The JobManager starts Spark; the process of each job connects to the JVM that is there and runs its
epochs on the same executors. Which JVM it is comes with the environment of the process.
"""

from __future__ import annotations

import os

from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import install_exception_handler

__all__ = ["attach", "attach_to", "environment_of", "gateway_of", "is_shared", "slots_of"]

_SHARED = "HEADRACE_SHARED_SPARK"


def environment_of(context: SparkContext) -> dict[str, str]:
    """What the environment of a process needs so that its jobs run in this application."""
    return {_SHARED: "1", **_variables(*gateway_of(context))}


def gateway_of(context: SparkContext) -> tuple[int, str]:
    """The port of the application's JVM, and the secret that it wants to hear there."""
    parameters = context._gateway.gateway_parameters  # type: ignore[union-attr]
    return parameters.port, parameters.auth_token


def _variables(port: int, secret: str) -> dict[str, str]:
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}


def slots_of(context: SparkContext) -> int:
    """How many tasks the application can run at once."""
    return context.defaultParallelism


def is_shared() -> bool:
    """Whether this process belongs to an application that is there already."""
    return _SHARED in os.environ


def attach_to(port: int, secret: str) -> SparkContext:
    """The context of an application that was started for this process alone."""
    variables = _variables(port, secret)
    os.environ.update(variables)
    try:
        return attach()
    finally:
        # Processes of this one are not to use it.
        for name in variables:
            del os.environ[name]


def attach() -> SparkContext:
    """The context of the application that this process belongs to."""
    SparkContext._ensure_initialized()
    jvm, gateway = SparkContext._jvm, SparkContext._gateway
    running = getattr(jvm, "org.apache.spark.SparkContext").getOrCreate()
    java_context = jvm.JavaSparkContext.fromSparkContext(running)  # type: ignore[union-attr]
    conf = SparkConf(_jconf=java_context.getConf())
    install_exception_handler()
    return SparkContext(conf=conf, jsc=java_context, gateway=gateway)
