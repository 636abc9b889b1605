"""Waits for what a running job has done, however slow the machine is."""

from __future__ import annotations

import time

from headrace.common.job_client import JobClient

LIMIT_S = 120.0


def wait_until_read(client: JobClient, count: int) -> None:
    """Wait until the sources of a job have emitted so many records, in epochs that are over."""
    deadline = time.monotonic() + LIMIT_S
    while (emitted := _emitted(client)) < count:
        status = client.get_job_status().result()
        assert not status.is_terminal_state(), f"the job is {status.name} after {emitted} records"
        assert time.monotonic() < deadline, f"only {emitted} records came"
        time.sleep(0.02)


def _emitted(client: JobClient) -> int:
    summary = client._handle.last_epoch
    reports = () if summary is None else summary.reports
    return sum(r.operators[0].records_out for r in reports if r.source)
