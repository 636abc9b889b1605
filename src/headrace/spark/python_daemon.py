"""Spark's Python daemon, which has imported what tasks need before it forks a worker for them.

Spark's own imports little, so every worker would import the rest anew. And it would take PySpark
from an archive of sources that Spark puts first on its path, which each process compiles again.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder


def prefer_installed(path: list[str], spark_home: str) -> None:
    """Take the archives of a Spark off a path if the same PySpark is installed on it."""
    archives = os.path.join(spark_home, "python", "lib", "")
    rest = [place for place in path if not place.startswith(archives)]
    found = PathFinder.find_spec("pyspark", rest)
    if found is not None and found.origin == os.path.join(spark_home, "__init__.py"):
        path[:] = rest


def main() -> None:
    """What Spark starts; it forks until Spark ends it."""
    prefer_installed(sys.path, os.environ.get("SPARK_HOME", ""))
    for module in ("pyspark.worker", "headrace.spark.tasks", "headrace.spark.live.tasks"):
        import_module(module)
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
