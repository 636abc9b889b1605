"""A job in a few figures."""

from __future__ import annotations

import time

from headrace.coordination.bodies.jobs import JobOverview, TaskCounts
from headrace.coordination.job.master import JobMaster

__all__ = ["overview_of"]


def overview_of(master: JobMaster) -> JobOverview:
    """What a list of jobs shows about one of them."""
    states = master.history.states
    started, changed = states[0].timestamp_ms, states[-1].timestamp_ms
    ended = changed if master.status().is_terminal_state() else -1
    counts = {state.lower(): n for state, n in master.execution.counts().items()}
    return JobOverview(
        master.job_id.to_hex_string(),
        master.job_graph.job_name,
        master.status().name,
        started,
        ended,
        (ended if ended >= 0 else int(time.time() * 1000)) - started,
        last_modification=changed,
        tasks=TaskCounts(total=sum(counts.values()), **counts),
        parallelism=max(v.parallelism for v in master.job_graph.vertices),
        restarts=master.restarts,
    )
