"""What a slot is given to build its subtasks from."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import cloudpickle

from headrace.graph.ids import NodeId, OperatorId, SlotId, VertexId
from headrace.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from headrace.graph.partitioning import Partitioning
from headrace.graph.physical_graph import Location, Partition, PhysicalGraph
from headrace.graph.specs import SourceSpec
from headrace.runtime.exchange.frame_queue import DEFAULT_MEMORY
from headrace.runtime.snapshots.local_copies import LocalCopies
from headrace.runtime.state.factory import StateBackendSettings
from headrace.runtime.storage import Storages
from headrace.runtime.subtask_figures import MetricSettings


@dataclass(frozen=True)
class JobSettings:
    """What all subtasks of a job share."""

    job_id: str
    job_name: str
    restarts: int = 0
    checkpointing: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    cached_files: dict[str, str] = field(default_factory=dict)
    state_backend: StateBackendSettings = field(default_factory=StateBackendSettings)
    storages: Storages = field(default_factory=Storages)
    track_changes: bool = False
    local_recovery: bool = False
    local_directory: str | None = None
    metrics: MetricSettings = field(default_factory=MetricSettings)
    buffer_memory: int = DEFAULT_MEMORY

    def local_copies(self) -> LocalCopies | None:
        """The copies of snapshots on this host, if the job wants some."""
        return LocalCopies(self.local_directory, self.job_id) if self.local_recovery else None


@dataclass(frozen=True)
class InEdge:
    """An exchange as its receiver sees it."""

    operator_id: OperatorId
    parallelism: int


@dataclass(frozen=True)
class OutEdge:
    """An exchange as its sender sees it."""

    locations: tuple[Location, ...]
    max_parallelism: int


@dataclass(frozen=True)
class VertexDeployment:
    """A vertex, its operators' specs pickled one by one so that no two share a function object."""

    vertex: JobVertex
    specs: tuple[bytes, ...]
    senders: dict[int, InEdge]
    receivers: dict[int, OutEdge]

    def unpacked(self) -> JobVertex:
        """The vertex with its specs; every call gives function objects of its own."""
        operators = tuple(
            replace(op, spec=pickle.loads(spec))
            for op, spec in zip(self.vertex.operators, self.specs, strict=True)
        )
        return replace(self.vertex, operators=operators)


def single_operator(
    spec: bytes,
    kind: str,
    partitionings: Sequence[Partitioning],
    *,
    keyed: bool,
    parallelism: int,
    max_parallelism: int,
    operator_id: OperatorId,
) -> VertexDeployment:
    """A vertex of one operator outside of any job: records come from a single sender."""
    vertex = VertexId(operator_id)
    operator = ChainedOperator(
        NodeId(1),
        operator_id,
        None,
        kind,
        None,  # type: ignore[arg-type]
        None,
        keyed,
    )
    edges = tuple(
        JobEdge(index, VertexId("outside"), NodeId(0), vertex, index, partitioning)
        for index, partitioning in enumerate(partitionings)
    )
    return VertexDeployment(
        JobVertex(
            id=vertex,
            name=kind,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            slot_sharing_group="default",
            operators=(operator,),
            chained_edges=(),
            in_edges=edges,
            out_edges=(),
        ),
        (spec,),
        {edge.index: InEdge(OperatorId("outside"), 1) for edge in edges},
        {},
    )


@dataclass(frozen=True)
class JobDeployment:
    """A whole job for a slot: it takes from it what is its own."""

    settings: JobSettings
    vertices: dict[VertexId, bytes]
    physical: PhysicalGraph
    main_classes: bytes

    def packed(self, settings: JobSettings) -> bytes:
        """The deployment of one attempt as bytes, the same for all slots."""
        return pickle.dumps(replace(self, settings=settings), 5)

    def rebuilt(self, job_graph: JobGraph, physical: PhysicalGraph) -> JobDeployment:
        """The same functions, as they were when the job started, for the job at another scale."""
        specs: dict[NodeId, bytes] = {}
        for packed in self.vertices.values():
            known: VertexDeployment = pickle.loads(packed)
            operators = (o.node for o in known.vertex.operators)
            specs.update(zip(operators, known.specs, strict=True))
        return replace(self, vertices=_packed(job_graph, physical, specs), physical=physical)

    def subtasks_of(self, slot: SlotId) -> list[tuple[Partition, VertexDeployment]]:
        """What lives in a slot, upstream first."""
        return [
            (partition, pickle.loads(self.vertices[partition.vertex]))
            for partition in self.physical.subtasks_of(slot)
        ]


def pack_job(job_graph: JobGraph, physical: PhysicalGraph, settings: JobSettings) -> bytes:
    """The deployment of a job as bytes."""
    return deployment_of(job_graph, physical).packed(settings)


def deployment_of(job_graph: JobGraph, physical: PhysicalGraph) -> JobDeployment:
    """The deployment of a job as it is now; settings come with each attempt."""
    operators = (o for v in job_graph.vertices for o in v.operators)
    specs = {o.node: cloudpickle.dumps(o.spec) for o in operators}
    vertices = _packed(job_graph, physical, specs)
    return JobDeployment(JobSettings("", ""), vertices, physical, _main_classes())


def _packed(
    job_graph: JobGraph, physical: PhysicalGraph, specs: dict[NodeId, bytes]
) -> dict[VertexId, bytes]:
    locations = physical.locations()
    senders = {
        o.node: InEdge(o.operator_id, v.parallelism)
        for v in job_graph.vertices
        for o in v.operators
    }
    vertices = {}
    for vertex in job_graph.vertices:
        receivers = {}
        for edge in vertex.out_edges:
            target = job_graph.vertex(edge.target_vertex)
            receivers[edge.index] = OutEdge(
                tuple(locations[target.id, i] for i in range(target.parallelism)),
                target.max_parallelism,
            )
        bare = replace(
            vertex,
            operators=tuple(replace(op, spec=None) for op in vertex.operators),  # type: ignore[arg-type]
        )
        vertices[vertex.id] = cloudpickle.dumps(
            VertexDeployment(
                bare,
                tuple(specs[op.node] for op in vertex.operators),
                {e.index: senders[e.source_node] for e in vertex.in_edges},
                receivers,
            )
        )
    return vertices


def _main_classes() -> bytes:
    """The classes of the user's script: their instances must unpickle in every slot."""
    main = sys.modules.get("__main__")
    classes: dict[str, Any] = {}
    # A copy, because other threads of the program may set variables meanwhile.
    for name, value in dict(vars(main)).items() if main else ():
        if isinstance(value, type) and value.__module__ == "__main__":
            try:
                classes[name] = cloudpickle.dumps(value)
            except Exception:  # noqa: BLE001 - the user's class
                # A class that cannot travel is only a problem if a record is made of it.
                continue
    return pickle.dumps(classes, 5)


def library_modules(job_graph: JobGraph) -> tuple[str, ...]:
    """What slots import besides the runtime, as far as the graph tells; nothing of users."""
    specs = [operator.spec for vertex in job_graph.vertices for operator in vertex.operators]
    sources = [spec.source for spec in specs if isinstance(spec, SourceSpec)]
    found = {type(x).__module__ for x in (*specs, *sources)}
    found |= {spec.operator.partition(":")[0] for spec in specs}
    ours = sorted(module for module in found if module.startswith("headrace."))
    others = {name for x in (*specs, *sources) for name in x.imports}
    return (*ours, *sorted(others))


def install_main_classes(packed: bytes) -> None:
    """Make the classes of the user's script known as members of this process's `__main__`."""
    main = sys.modules["__main__"]
    for name, value in pickle.loads(packed).items():
        setattr(main, name, pickle.loads(value))
