"""The archive of Spark's classes, which JVMs of tests share: loading them anew takes seconds."""

from __future__ import annotations

from pyspark.find_spark_home import _find_spark_home

from headrace.common.files.private_directory import private_directory
from headrace.coordination.slots.dependencies import cache_directory
from headrace.spark.class_archive import ClassArchive
from headrace.spark.session import check_java


def class_archive() -> ClassArchive:
    """What is there, or will be: `conftest.py` sees to it that there is one."""
    directory = private_directory(cache_directory())
    return ClassArchive(directory, check_java(), _find_spark_home())
