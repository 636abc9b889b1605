"""Nodes and edges of a program, with partitioning, union and side outputs resolved into edges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.errors import GraphError
from headrace.graph.ids import (
    UPPER_BOUND_MAX_PARALLELISM,
    NodeId,
    OperatorId,
    default_max_parallelism,
)
from headrace.graph.partitioning import Forward, Keyed, Partitioning, Rebalance
from headrace.graph.specs import OperatorSpec, SinkSpec, SourceSpec
from headrace.graph.transformation import (
    CacheTransformation,
    Chaining,
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

DEFAULT_SLOT_SHARING_GROUP = "default"


@dataclass(frozen=True)
class StreamEdge:
    """Records of `source` (or of its side output `tag`) go to input `input_index` of `target`.

    `asked_for` is the partitioning that the program names; without one it follows from the
    parallelism of both ends.
    """

    source: NodeId
    target: NodeId
    input_index: int
    partitioning: Partitioning
    tag: Any = None
    asked_for: Partitioning | None = None


@dataclass
class StreamNode:
    """One operator."""

    id: NodeId
    name: str
    spec: OperatorSpec
    output_type: Any
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str
    chaining: Chaining
    uid: str | None = None
    uid_hash: str | None = None
    added: bool = False
    description: str | None = None
    converts: bool = False
    parallelism_configured: bool = False
    in_edges: list[StreamEdge] = field(default_factory=list)
    out_edges: list[StreamEdge] = field(default_factory=list)

    @property
    def is_source(self) -> bool:
        return isinstance(self.spec, SourceSpec)

    @property
    def is_sink(self) -> bool:
        return isinstance(self.spec, SinkSpec)

    @property
    def keyed(self) -> bool:
        """Whether records arrive with a key."""
        return any(isinstance(e.partitioning, Keyed) for e in self.in_edges)


@dataclass
class StreamGraph:
    """The whole program. `nodes` is in topological order."""

    job_name: str
    nodes: dict[NodeId, StreamNode]
    chaining_enabled: bool = True
    batch: bool = False
    object_reuse: bool = False
    operator_ids: dict[NodeId, OperatorId] = field(default_factory=dict)

    @property
    def sources(self) -> list[StreamNode]:
        return [n for n in self.nodes.values() if n.is_source]


@dataclass(frozen=True)
class GraphSettings:
    """What the environment says about the graph as a whole."""

    job_name: str
    parallelism: int
    max_parallelism: int | None = None
    chaining_enabled: bool = True
    auto_generated_uids: bool = True
    batch: bool = False
    object_reuse: bool = False


def build_stream_graph(
    transformations: Iterable[Transformation], settings: GraphSettings
) -> StreamGraph:
    """Resolve the transformation tree."""
    builder = _Builder(settings)
    for transformation in transformations:
        builder.add(transformation)
    if not builder.nodes:
        raise GraphError(
            "No operators defined in streaming topology. Cannot execute. "
            "Add a source, transformations and a sink before execute()"
        )
    nodes = _topological(builder.nodes)
    graph = StreamGraph(
        settings.job_name, nodes, settings.chaining_enabled, settings.batch, settings.object_reuse
    )
    graph.operator_ids = _operator_ids(graph, settings)
    return graph


@dataclass(frozen=True)
class _Upstream:
    """Where the records of a transformation come from, once virtual ones are resolved."""

    node: NodeId
    partitioning: Partitioning | None = None
    tag: Any = None


class _Builder:
    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self.nodes: dict[NodeId, StreamNode] = {}
        self._resolved: dict[NodeId, list[_Upstream]] = {}

    def add(self, transformation: Transformation) -> list[_Upstream]:
        """Add a transformation and everything above it; iterative, so that long chains are fine."""
        stack = [transformation]
        while stack:
            current = stack[-1]
            if current.id in self._resolved:
                stack.pop()
                continue
            missing = [t for t in current.inputs if t.id not in self._resolved]
            if missing:
                stack.extend(missing)
                continue
            self._resolved[current.id] = self._resolve(current)
            stack.pop()
        return self._resolved[transformation.id]

    def _resolve(self, t: Transformation) -> list[_Upstream]:
        if isinstance(t, OperatorTransformation):
            return [_Upstream(self._add_node(t))]
        if isinstance(t, UnionTransformation | CacheTransformation):
            return [u for i in t.inputs for u in self._resolved[i.id]]
        upstream = self._resolved[t.inputs[0].id]
        if isinstance(t, PartitionTransformation):
            return [_Upstream(u.node, t.partitioning, u.tag) for u in upstream]
        if isinstance(t, SideOutputTransformation):
            return [_Upstream(u.node, None, t.tag) for u in upstream]
        raise GraphError(f"unknown transformation {type(t).__name__}")

    def _add_node(self, t: OperatorTransformation) -> NodeId:
        parallelism = t.parallelism or self._settings.parallelism
        explicit = t.max_parallelism or self._settings.max_parallelism
        if explicit is not None and parallelism > explicit:
            raise GraphError(
                f"operator {t.name!r} has parallelism {parallelism} but its max parallelism is "
                f"{explicit}: lower the parallelism or raise set_max_parallelism()"
            )
        if parallelism > UPPER_BOUND_MAX_PARALLELISM:
            raise GraphError(f"operator {t.name!r}: parallelism {parallelism} is more than 32768")
        node = StreamNode(
            id=t.id,
            name=_shown_name(t),
            spec=t.spec,
            output_type=t.output_type,
            parallelism=parallelism,
            max_parallelism=explicit or default_max_parallelism(parallelism),
            slot_sharing_group=t.slot_sharing_group or self._inherited_group(t),
            chaining=t.chaining,
            uid=t.uid,
            uid_hash=t.uid_hash,
            added=t.added,
            description=t.description,
            converts=t.converts,
            parallelism_configured=t.parallelism is not None,
        )
        self.nodes[t.id] = node
        for index, transformation in enumerate(t.inputs):
            for upstream in self._resolved[transformation.id]:
                self._add_edge(upstream, node, index)
        return t.id

    def _inherited_group(self, t: Transformation) -> str:
        """Flink's rule: the inputs' group if they agree, else the default group."""
        groups = {
            self.nodes[u.node].slot_sharing_group for i in t.inputs for u in self._resolved[i.id]
        }
        return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP

    def _add_edge(self, upstream: _Upstream, target: StreamNode, input_index: int) -> None:
        source = self.nodes[upstream.node]
        edge = _edge(source, target, input_index, upstream.tag, upstream.partitioning)
        source.out_edges.append(edge)
        target.in_edges.append(edge)


def _edge(
    source: StreamNode,
    target: StreamNode,
    input_index: int,
    tag: Any,
    asked_for: Partitioning | None,
) -> StreamEdge:
    same = source.parallelism == target.parallelism
    partitioning = asked_for or (Forward() if same else Rebalance())
    if isinstance(partitioning, Forward) and not same:
        raise GraphError(
            f"forward() from {source.name!r} (parallelism {source.parallelism}) to "
            f"{target.name!r} (parallelism {target.parallelism}): both sides need the same "
            "parallelism; use rebalance() or rescale(), or set the same parallelism"
        )
    return StreamEdge(source.id, target.id, input_index, partitioning, tag, asked_for)


def rescaled(graph: StreamGraph, parallelism: int) -> StreamGraph:
    """The same program at another default parallelism, with the same operator ids.

    Operators whose parallelism the program sets keep it, and all keep their key groups.
    """
    nodes = {
        node.id: replace(
            node,
            parallelism=node.parallelism if node.parallelism_configured else parallelism,
            in_edges=[],
            out_edges=[],
        )
        for node in graph.nodes.values()
    }
    for node in nodes.values():
        if node.parallelism > node.max_parallelism:
            raise GraphError(
                f"operator {node.name!r} has {node.max_parallelism} key groups, so its "
                f"parallelism cannot become {parallelism}: use less, or start the job with a "
                "higher set_max_parallelism() and no state"
            )
    changed: dict[int, StreamEdge] = {}
    for node in graph.nodes.values():
        for edge in node.in_edges:
            new = changed[id(edge)] = _edge(
                nodes[edge.source], nodes[edge.target], edge.input_index, edge.tag, edge.asked_for
            )
            nodes[node.id].in_edges.append(new)
    for node in graph.nodes.values():
        nodes[node.id].out_edges = [changed[id(edge)] for edge in node.out_edges]
    return replace(graph, nodes=nodes)


def _shown_name(t: OperatorTransformation) -> str:
    """The name in plans and errors, where Flink says what is a source and what a sink."""
    if isinstance(t.spec, SourceSpec):
        return f"Source: {t.name}"
    return f"Sink: {t.name}" if isinstance(t.spec, SinkSpec) else t.name


def _topological(nodes: dict[NodeId, StreamNode]) -> dict[NodeId, StreamNode]:
    """Sources first; nodes that are ready keep the order in which the program made them."""
    waiting = {i: len(n.in_edges) for i, n in nodes.items()}
    ready = sorted(i for i, count in waiting.items() if count == 0)
    ordered: dict[NodeId, StreamNode] = {}
    while ready:
        current = ready.pop(0)
        ordered[current] = nodes[current]
        for edge in nodes[current].out_edges:
            waiting[edge.target] -= 1
            if waiting[edge.target] == 0:
                ready.append(edge.target)
    return ordered


def _operator_ids(graph: StreamGraph, settings: GraphSettings) -> dict[NodeId, OperatorId]:
    """Ids from the uid, else from a hash of the topology above the operator."""
    ids: dict[NodeId, OperatorId] = {}
    owners: dict[OperatorId, StreamNode] = {}
    for position, node in enumerate(graph.nodes.values()):
        if node.uid_hash is not None:
            operator_id = OperatorId(node.uid_hash)
        elif node.uid is not None:
            operator_id = operator_id_of(node.uid)
        elif not settings.auto_generated_uids and not node.added:
            raise GraphError(
                f"operator {node.name!r} has no uid, and auto-generated uids are disabled: "
                "call .uid('...') on it"
            )
        else:
            inputs = [f"{ids[e.source]}:{e.input_index}" for e in node.in_edges]
            operator_id = _hash("auto", str(position), *inputs)
        other = owners.get(operator_id)
        if other is not None:
            raise GraphError(
                f"uid {node.uid or node.uid_hash!r} is used by {other.name!r} and by "
                f"{node.name!r}: every operator needs its own uid"
            )
        owners[operator_id] = node
        ids[node.id] = operator_id
    return ids


def operator_id_of(uid: str) -> OperatorId:
    """The id of the operator with a uid, in every program."""
    return _hash("uid", uid)


def _hash(*parts: str) -> OperatorId:
    text = "\x1f".join(parts).encode()
    return OperatorId(hashlib.blake2b(text, digest_size=16).hexdigest())
