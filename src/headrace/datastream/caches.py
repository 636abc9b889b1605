"""What a stream computed in one job is read by the next ones."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable

from headrace.common.files.scratch import ScratchDirectory
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.record_files import RecordFileSink, RecordFileSource
from headrace.graph.ids import NodeId
from headrace.graph.specs import SinkSpec, SourceSpec
from headrace.graph.transformation import (
    CacheTransformation,
    OperatorTransformation,
    Transformation,
)

__all__ = ["CachesOfJob", "computed_from", "sources_above"]


class CachesOfJob:
    """The caches that a job is to fill."""

    def __init__(self, transformations: Iterable[Transformation]) -> None:
        self._empty = [
            t
            for t in computed_from(transformations)
            if isinstance(t, CacheTransformation) and t.directory is None
        ]
        self._filled: list[tuple[CacheTransformation, str]] = []

    def sinks(self, ids: Iterable[int]) -> list[OperatorTransformation]:
        """Sinks that fill them."""
        sinks = []
        for cached in self._empty:
            scratch = ScratchDirectory("cache")
            weakref.finalize(cached, scratch.remove)
            directory = str(scratch.path / "records")
            os.mkdir(directory)
            spec = SinkSpec(RecordFileSink(directory))
            computed = cached.computed
            sink = OperatorTransformation(ids, "Cache", [computed], computed.output_type, spec)
            sink.parallelism = computed.parallelism
            sinks.append(sink)
            self._filled.append((cached, directory))
        return sinks

    def job_succeeded(self, ids: Iterable[int]) -> None:
        """All records are there: read them from now on."""
        for cached, directory in self._filled:
            spec = SourceSpec(RecordFileSource(directory))
            source = OperatorTransformation(ids, "Cache", [], cached.output_type, spec)
            source.parallelism = cached.computed.parallelism
            cached.inputs = [source]
            cached.directory = directory


def sources_above(*transformations: Transformation) -> list[Source]:
    """All sources that streams are computed from."""
    return [
        t.spec.source
        for t in computed_from(transformations)
        if isinstance(t, OperatorTransformation) and isinstance(t.spec, SourceSpec)
    ]


def computed_from(transformations: Iterable[Transformation]) -> list[Transformation]:
    """These transformations and all that they depend on."""
    found: dict[NodeId, Transformation] = {}
    stack = list(transformations)
    while stack:
        current = stack.pop()
        if current.id not in found:
            found[current.id] = current
            stack.extend(current.inputs)
    return list(found.values())
