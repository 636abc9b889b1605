"""How a job is run, and what those who watch it are told."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from headrace.coordination.access.program_jobs import EarlierRun
from headrace.coordination.carrier import SlotEnvironment
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.job.restart_policy import NoRestart, RestartPolicy
from headrace.coordination.slots.heartbeats import HeartbeatSettings
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import EpochReport
from headrace.runtime.exchange.frame_queue import DEFAULT_MEMORY
from headrace.runtime.slot.deployment import JobSettings
from headrace.runtime.slot.messages import Close
from headrace.runtime.state.factory import StateBackendSettings
from headrace.runtime.subtask_figures import MetricSettings


@dataclass(frozen=True)
class JobMasterOptions:
    """How a job is run."""

    epoch_target_s: float = 1.0
    epoch_max_records: int | None = None
    live_linger_s: float = 0.002
    """The least time between two epochs that are carried live."""
    buffer_memory: int = DEFAULT_MEMORY
    """What frames that wait may take of a slot's memory."""
    slots: SlotEnvironment = field(default_factory=SlotEnvironment)
    heartbeats: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    cancellation: Close = field(default_factory=Close)
    job_parameters: dict[str, str] = field(default_factory=dict)
    cached_files: dict[str, str] = field(default_factory=dict)
    state_backend: StateBackendSettings = field(default_factory=StateBackendSettings)
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    metrics: MetricSettings = field(default_factory=MetricSettings)
    restarts: RestartPolicy = field(default_factory=NoRestart)
    restore_path: str | None = None
    commit_marker: str | None = None
    allow_unmatched_state: bool = False
    claim_restored: bool = False
    run: EarlierRun = field(default_factory=EarlierRun)
    settings: dict[str, str] = field(default_factory=dict)
    """What was configured, without secrets, for those who look at the job."""

    def for_slots(self, job_id: str, job_name: str, restarts: int) -> JobSettings:
        """What slots need to know of it."""
        return JobSettings(
            job_id,
            job_name,
            restarts=restarts,
            checkpointing=self.checkpoints.enabled,
            job_parameters=self.job_parameters,
            cached_files=self.cached_files,
            state_backend=self.state_backend,
            storages=self.checkpoints.storages,
            track_changes=self.checkpoints.tracks_changes,
            local_recovery=self.checkpoints.local_recovery,
            local_directory=self.checkpoints.local_directory,
            metrics=self.metrics,
            buffer_memory=self.buffer_memory,
        )


@dataclass(frozen=True)
class EpochSummary:
    """One epoch that is over, for those who watch."""

    epoch: int
    duration_s: float
    reports: tuple[EpochReport, ...]
    job_graph: JobGraph


def python_path() -> tuple[str, ...]:
    """Where slots on this machine look for the user's modules: where this process does."""
    return tuple(os.path.abspath(p) if p == "" else p for p in sys.path)
