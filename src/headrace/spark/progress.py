"""How far Spark is with the stages of a query, on a terminal."""

from __future__ import annotations

from contextlib import AbstractContextManager

from pyspark import SparkContext

from headrace.common.display.waiting import waiting

__all__ = ["shown_progress", "stages_text"]

_PATIENCE_S = 2.0
_WIDTH = 24


def shown_progress(context: SparkContext, group: str) -> AbstractContextManager[None]:
    """Show the stages of a group of jobs while the body runs, if it takes more than two seconds."""
    return waiting(lambda: stages_text(context, group), _PATIENCE_S)


def stages_text(context: SparkContext, group: str) -> str:
    """How many stages are done, and a bar for the tasks of the one that runs."""
    tracker = context.statusTracker()
    done = known = 0
    bar = ""
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in sorted(info.stageIds) if info is not None else ():
            known += 1
            found = tracker.getStageInfo(stage)
            if found is None or found.numTasks == 0:
                # It is skipped, or Spark has forgotten it.
                done += found is None
            elif found.numCompletedTasks == found.numTasks:
                done += 1
            elif found.numActiveTasks or found.numCompletedTasks:
                bar = _bar(found.numCompletedTasks, found.numTasks)
    return f"stage {min(done + 1, known)} of {known}{bar}" if known else "planning"


def _bar(done: int, tasks: int) -> str:
    filled = _WIDTH * done // tasks
    return f" [{'=' * filled}{' ' * (_WIDTH - filled)}] {done}/{tasks} tasks"
