"""What sinks commit in one place, after the committers of their subtasks."""

from __future__ import annotations

from headrace.datastream.connectors.base import GlobalCommitter
from headrace.graph.job_graph import JobGraph
from headrace.graph.specs import SinkSpec


class GlobalCommits:
    """The global committers of a job. All methods are called by the job master's thread."""

    def __init__(self, job_graph: JobGraph, job_id: str) -> None:
        self._committers: list[GlobalCommitter] = []
        self._done = 0
        for vertex in job_graph.vertices:
            for operator in vertex.operators:
                if isinstance(operator.spec, SinkSpec):
                    committer = operator.spec.sink.create_global_committer(job_id)
                    if committer is not None:
                        for other in self._committers:
                            committer.check_beside(other)
                        self._committers.append(committer)

    def restored(self, checkpoint: int, job_id: str) -> None:
        """The job goes on from a checkpoint of a job; all subtasks have committed it again."""
        for committer in self._committers:
            committer.commit(checkpoint, restored=job_id)

    def commit(self, checkpoint: int) -> None:
        """All subtasks have committed a checkpoint."""
        if checkpoint > self._done:
            for committer in self._committers:
                committer.commit(checkpoint)
            self._done = checkpoint
