"""Programs up to their first job: what would run, without running it."""

from __future__ import annotations

from collections.abc import Callable

from headrace.cluster.exit_codes import ExitCode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph

__all__ = ["PlanReadyError", "planned"]


class PlanReadyError(BaseException):
    """Stops a program at its execute(); no `except Exception` of the program catches it."""


def planned(run: Callable[[], int]) -> tuple[int, list[StreamGraph]]:
    """Run something up to a job, which is not run.

    Args:
        run: Runs a program and gives its exit code. If it catches `PlanReadyError` itself and goes
            on, all jobs are found.

    Returns:
        The exit code, and the graphs of the jobs.
    """
    graphs: list[StreamGraph] = []

    def keep(graph: StreamGraph) -> None:
        graphs.append(graph)
        raise PlanReadyError

    StreamExecutionEnvironment.instead_of_running = keep
    try:
        return run(), graphs
    except PlanReadyError:
        return ExitCode.OK, graphs
    finally:
        StreamExecutionEnvironment.instead_of_running = None
