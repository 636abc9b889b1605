"""Hands the batches of a `SparkSink` on as DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.staging import StagedBatches, Staging
from headrace.spark.feeds import spark_failure
from headrace.spark.session import get_or_create_session


class BatchCommitter(StagedBatches):
    """Gives each batch to a function, as a DataFrame."""

    def __init__(self, staging: Staging, function: Callable[[Any, str], None], job_id: str) -> None:
        super().__init__(staging, job_id)
        self._function = function

    def hand_on(self, batch: str, directory: Path) -> None:
        session = get_or_create_session({})
        try:
            self._function(session.read.parquet(f"file:{directory}"), batch)
        except (Py4JError, PySparkException, OSError) as error:
            raise HeadraceError(
                f"batch {batch} of a SparkSink could not be handed over: {spark_failure(error)}; "
                f"its rows are in {directory}, and it will be tried again after a restart"
            ) from error
