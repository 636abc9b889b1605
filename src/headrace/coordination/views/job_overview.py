"""A job in a few figures, in the words of Flink's REST interface."""

from __future__ import annotations

import time
from typing import Any

from headrace.coordination.job.master import JobMaster

__all__ = ["NO_TASKS", "overview_of"]

NO_TASKS = dict.fromkeys(
    (
        *("total", "created", "scheduled", "deploying", "initializing", "reconciling", "running"),
        *("finished", "canceling", "canceled", "failed"),
    ),
    0,
)
"""Flink's clients want all states to be there; some of them no subtask of ours is ever in."""


def overview_of(master: JobMaster) -> dict[str, Any]:
    """What a list of jobs shows about one of them."""
    states = master.history.states
    started, changed = states[0].timestamp_ms, states[-1].timestamp_ms
    ended = changed if master.status().is_terminal_state() else -1
    counts = NO_TASKS | {state.lower(): n for state, n in master.execution.counts().items()}
    return {
        "jid": master.job_id.to_hex_string(),
        "name": master.job_graph.job_name,
        "state": master.status().name,
        "start-time": started,
        "end-time": ended,
        "duration": (ended if ended >= 0 else int(time.time() * 1000)) - started,
        "last-modification": changed,
        "tasks": {**counts, "total": sum(counts.values())},
        "pending-operators": 0,
        "parallelism": max(v.parallelism for v in master.job_graph.vertices),
        "restarts": master.restarts,
    }
