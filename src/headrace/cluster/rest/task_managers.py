"""Task managers: Spark's executors, and the slots beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.cluster.manager.bodies import TaskManager, ThreadInfo
from headrace.cluster.manager.log_files import JoinedLogs, LocalLog, Log
from headrace.cluster.rest.answer import Answer
from headrace.cluster.rest.endpoints import JOB_MANAGER_LOG, TEXT, Cluster, Endpoint
from headrace.cluster.rest.logs import PART, list_of_logs, part_of_log
from headrace.cluster.rest.thread_infos import thread_infos
from headrace.common.errors import HeadraceError
from headrace.coordination.bodies.flink_json import from_json
from headrace.runtime.slot.messages import ThreadsDumped

__all__ = ["endpoints"]

_DRIVER = "driver"
_OWN_LOG = "stderr"


class _TaskManagers:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def all(self, request: Request) -> Response:
        shown = [replace(m, allocated_slots=None) for m in self._cluster.executors.all()]
        return Answer({"taskmanagers": shown})

    def one(self, request: Request) -> Response:
        return Answer(self._one(request))

    # Logs.

    def logs(self, request: Request) -> Response:
        manager = self._one(request)
        return list_of_logs([*self._own_logs(manager), *self._slot_logs(manager)])

    def named_log(self, request: Request) -> Response:
        manager, wanted = self._one(request), request.path_params["name"]
        # Only what the list shows can be read: a name of a client is never a path.
        known = [*self._own_logs(manager), *self._slot_logs(manager)]
        found = next((log for log in known if log.name == wanted), None)
        if found is None:
            raise HTTPException(404, f"the task manager has no log {wanted!r}")
        return part_of_log(request, found)

    def log(self, request: Request) -> Response:
        """What the executor itself wrote."""
        own = {log.name: log for log in self._own_logs(self._one(request))}
        found = own.get(_OWN_LOG) or own.get(JOB_MANAGER_LOG)
        if found is None:
            raise HTTPException(
                404, "Spark does not provide the log of this executor: ask its cluster manager"
            )
        return part_of_log(request, found)

    def output(self, request: Request) -> Response:
        """What functions in its slots wrote."""
        logs = self._slot_logs(self._one(request))
        return part_of_log(request, JoinedLogs("stdout", logs))

    def _own_logs(self, manager: TaskManager) -> list[Log]:
        """Where the driver is the executor, its log is that of the JobManager."""
        if manager.id == _DRIVER:
            path = Path(self._cluster.directory) / JOB_MANAGER_LOG
            return [LocalLog(JOB_MANAGER_LOG, path)] if path.is_file() else []
        return [*self._cluster.executors.own_logs(manager.id)]

    def _slot_logs(self, manager: TaskManager) -> list[Log]:
        dispatcher = self._cluster.dispatcher
        return [
            log
            for slot in manager.allocated_slots or ()
            for log in dispatcher.slot_logs(slot.job_id, slot.index)
        ]

    # Threads.

    def threads(self, request: Request) -> Response:
        """Those of the slots: they are the processes in which user code runs."""
        slots = self._one(request).allocated_slots or ()
        found: list[ThreadInfo] = []
        for job in sorted({slot.job_id for slot in slots}):
            here = {slot.index for slot in slots if slot.job_id == job}
            found += self._threads_of(job, here)
        return Answer({"threadInfos": found})

    def _threads_of(self, job: str, slots: set[int]) -> list[ThreadInfo]:
        try:
            answer = self._cluster.dispatcher.perform(job, "threads")
        except HeadraceError:
            # It ended or restarts while we ask.
            return []
        found: list[ThreadInfo] = []
        for dump in from_json(list[ThreadsDumped], answer):
            if dump.slot in slots:
                doing = f", {dump.subtask}" if dump.subtask else ""
                where = f"job {job[:8]}, slot {dump.slot}{doing}: "
                found += thread_infos(dump.threads, where)
        return found

    def _one(self, request: Request) -> TaskManager:
        name = request.path_params["manager"]
        found = self._cluster.executors.one(name)
        if found is None:
            raise HTTPException(404, f"no task manager {name!r}")
        return found


def endpoints(cluster: Cluster) -> list[Endpoint]:
    """All about task managers."""
    managers, top = _TaskManagers(cluster), "/taskmanagers/{manager}"
    return [
        Endpoint("/taskmanagers", managers.all, "Executors and how many slots they have"),
        Endpoint(top, managers.one, "An executor with its slots"),
        Endpoint(f"{top}/logs", managers.logs, "Its logs, and those of its slots"),
        Endpoint(
            f"{top}/logs/{{name}}", managers.named_log, "One of them", query=PART, answers=TEXT
        ),
        Endpoint(f"{top}/log", managers.log, "What it wrote itself", query=PART, answers=TEXT),
        Endpoint(
            f"{top}/stdout", managers.output, "What its slots wrote", query=PART, answers=TEXT
        ),
        Endpoint(
            f"{top}/thread-dump", managers.threads, "What the threads of its slots are doing now"
        ),
    ]
