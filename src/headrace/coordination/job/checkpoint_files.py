"""Where the checkpoints of a job are, and what becomes of them when it ends."""

from __future__ import annotations

from headrace.common.files.scratch import ScratchDirectory
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.checkpoint_store import CheckpointStore
from headrace.runtime.snapshots.local_copies import LocalCopies
from headrace.runtime.storage import join, shared


class CheckpointFiles:
    """The directory of a job's checkpoints; a temporary one where none is configured."""

    def __init__(self, job: str, settings: CheckpointSettings) -> None:
        self._job = job
        self._settings = settings
        self._temporary: ScratchDirectory | None = None
        directory = settings.directory
        if directory is None:
            self._temporary = ScratchDirectory("checkpoints")
            directory = str(self._temporary.path)
        self.store = CheckpointStore(
            join(shared(directory), job), settings.retained, settings.storages
        )

    def clean_up(self, status: JobStatus) -> None:
        """Checkpoints go with the job, unless it failed or the user wants them kept."""
        keep = status is JobStatus.FAILED or (
            status is JobStatus.CANCELED and self._settings.keep_on_cancellation
        )
        if not keep:
            self.store.clear()
        if self._settings.local_recovery:
            LocalCopies.remove_job(self._settings.local_directory, self._job)
        if self._temporary is not None:
            self._temporary.remove()
