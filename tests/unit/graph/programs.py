"""Small programs as graphs, for the tests of this folder."""

from __future__ import annotations

from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.job_graph import JobGraph, JobVertex, build_job_graph
from headrace.graph.stream_graph import StreamGraph


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def same(value: object) -> object:
    return value


def stream_graph(env: StreamExecutionEnvironment) -> StreamGraph:
    return env.get_stream_graph("job")


def job_graph(env: StreamExecutionEnvironment) -> JobGraph:
    return build_job_graph(stream_graph(env))


def chains(graph: JobGraph) -> list[str]:
    return [vertex.name for vertex in graph.vertices]


def vertex(graph: JobGraph, name: str) -> JobVertex:
    return next(v for v in graph.vertices if name in v.name)
