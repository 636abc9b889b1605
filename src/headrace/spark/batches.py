"""Hands the batches of a `SparkSink` on as DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headrace.common.errors import GraphError, HeadraceError
from headrace.datastream.connectors.base import GlobalCommitter
from headrace.datastream.connectors.staging import StagedBatches, Staging
from headrace.spark.feeds import spark_failure
from headrace.spark.session import get_or_create_session


class BatchCommitter(StagedBatches):
    """Gives each batch to a function, as a DataFrame."""

    def __init__(self, staging: Staging, function: Callable[[Any, str], None], job_id: str) -> None:
        super().__init__(staging, job_id)
        self._function = function

    def check_beside(self, other: GlobalCommitter) -> None:
        """Batches are the files of a directory: two sinks may share it only for one target."""
        if not isinstance(other, BatchCommitter) or self._staging != other._staging:
            return
        if self._function != other._function:
            raise GraphError(
                f"two SparkSinks have the staging_path {self._staging.path}, and rows of one would "
                "come to the other; give each its own"
            )

    def hand_on(self, batch: str, directory: Path) -> None:
        session = get_or_create_session({})
        try:
            self._function(session.read.parquet(f"file:{directory}"), batch)
        except (Py4JError, PySparkException, OSError) as error:
            raise HeadraceError(
                f"batch {batch} of a SparkSink could not be handed over: {spark_failure(error)}; "
                f"its rows are in {directory}, and it will be tried again after a restart"
            ) from error
