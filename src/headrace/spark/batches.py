"""Hands the batches of a `SparkSink` on as DataFrames."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import GlobalCommitter
from headrace.spark.feeds import spark_failure
from headrace.spark.session import get_or_create_session

if TYPE_CHECKING:
    from headrace.datastream.connectors.spark_sink import Staging

_log = logging.getLogger(__name__)


class BatchCommitter(GlobalCommitter):
    """Takes batches in the order of their checkpoints, each until a marker says it is done."""

    def __init__(self, staging: Staging, hand_on: Callable[[Any, str], None], job_id: str) -> None:
        self._staging = staging
        self._hand_on = hand_on
        self._own = f"-{job_id[:8]}"

    def commit(self, checkpoint: int, restored: bool = False) -> None:
        ready = Path(self._staging.ready)
        if not ready.is_dir():
            return
        for batch in sorted(os.listdir(ready)):
            # Those of another job count only if this one goes on from its checkpoint.
            mine = restored or batch.endswith(self._own)
            if mine and int(batch.split("-", 1)[0]) <= checkpoint:
                self._commit(batch, ready / batch)

    def _commit(self, batch: str, directory: Path) -> None:
        marker = Path(self._staging.done(batch))
        if not marker.exists():
            _log.info("handing over batch %s", batch)
            self._hand_on_batch(batch, directory)
            marker.parent.mkdir(parents=True, exist_ok=True)
            with marker.open("w") as stream:
                os.fsync(stream.fileno())
        shutil.rmtree(directory)

    def _hand_on_batch(self, batch: str, directory: Path) -> None:
        session = get_or_create_session({})
        try:
            self._hand_on(session.read.parquet(f"file:{directory}"), batch)
        except (Py4JError, PySparkException, OSError) as error:
            raise HeadraceError(
                f"batch {batch} of a SparkSink could not be handed over: {spark_failure(error)}; "
                f"its rows are in {directory}, and it will be tried again after a restart"
            ) from error
