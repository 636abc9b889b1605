"""A job in a few figures, in the words of Flink's REST interface."""

from __future__ import annotations

import time
from typing import Any

from headrace.coordination.job_master import JobMaster

__all__ = ["overview_of"]


def overview_of(master: JobMaster) -> dict[str, Any]:
    """What a list of jobs shows about one of them."""
    states = master.history.states
    started, changed = states[0].timestamp_ms, states[-1].timestamp_ms
    ended = changed if master.status().is_terminal_state() else -1
    counts = {state.lower(): n for state, n in master.execution.counts().items()}
    return {
        "jid": master.job_id.to_hex_string(),
        "name": master.job_graph.job_name,
        "state": master.status().name,
        "start-time": started,
        "end-time": ended,
        "duration": (ended if ended >= 0 else int(time.time() * 1000)) - started,
        "last-modification": changed,
        "tasks": {"total": sum(counts.values()), **counts},
        "parallelism": max(v.parallelism for v in master.job_graph.vertices),
        "restarts": master.restarts,
    }
