"""A savepoint made of DataFrames, alone or on the basis of another one."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import Any

from headrace.common.errors import CheckpointError, CheckpointFailureReason, FunctionTypeError
from headrace.coordination.checkpoint_store import (
    METADATA,
    CompletedCheckpoint,
    OperatorEntry,
    load_checkpoint,
)
from headrace.graph.ids import DEFAULT_MAX_PARALLELISM, CheckpointId
from headrace.runtime.snapshot_files import seal_of
from headrace.runtime.snapshots.writer import Seal
from headrace.runtime.storage import Storages, join
from headrace.state_processor.operator_identifier import OperatorIdentifier
from headrace.state_processor.tasks import Bootstrap
from headrace.state_processor.transformation import StateBootstrapTransformation

__all__ = ["SavepointWriter"]

_COPY_BYTES = 1 << 20


class SavepointWriter:
    """Collects what a savepoint is to hold, and writes it.

    Example::

        transformation = (
            OperatorTransformation.bootstrap_with(frame).key_by("user").transform(FillCounts())
        )
        SavepointWriter.new_savepoint().with_operator("count", transformation).write("savepoint")
    """

    def __init__(
        self, existing: CompletedCheckpoint | None, max_parallelism: int, parallelism: int
    ) -> None:
        self._existing = existing
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._removed: set[str] = set()
        self._new: dict[OperatorIdentifier, StateBootstrapTransformation] = {}

    @staticmethod
    def new_savepoint(
        max_parallelism: int = DEFAULT_MAX_PARALLELISM, parallelism: int = 4
    ) -> SavepointWriter:
        """Starts from nothing.

        Args:
            max_parallelism: The same as in the job that will start from it.
            parallelism: How many files the state of an operator is written to.
        """
        if not 0 < parallelism <= max_parallelism:
            raise FunctionTypeError(
                f"parallelism must be between 1 and the max parallelism {max_parallelism}, not "
                f"{parallelism}"
            )
        return SavepointWriter(None, max_parallelism, parallelism)

    @staticmethod
    def from_existing_savepoint(path: str, parallelism: int = 4) -> SavepointWriter:
        """Starts from a savepoint or checkpoint; what is not removed or replaced is copied."""
        existing = load_checkpoint(path)
        highest = max((o.max_parallelism for o in existing.operators), default=0)
        return SavepointWriter(existing, highest or DEFAULT_MAX_PARALLELISM, parallelism)

    def with_operator(
        self, operator: OperatorIdentifier | str, transformation: StateBootstrapTransformation
    ) -> SavepointWriter:
        """Adds the state of an operator that is new, or that was removed before."""
        identifier = OperatorIdentifier.of(operator)
        if not isinstance(transformation, StateBootstrapTransformation):
            raise FunctionTypeError(
                "with_operator() needs a transformation: end it with .transform(function); got "
                f"{transformation!r}"
            )
        if identifier in self._new or identifier.operator_id in self._kept_ids():
            raise FunctionTypeError(
                f"the savepoint already has state for the operator with {identifier}: call "
                "remove_operator() first to replace it"
            )
        self._new[identifier] = transformation
        return self

    def remove_operator(self, operator: OperatorIdentifier | str) -> SavepointWriter:
        """Leaves the state of an operator out."""
        identifier = OperatorIdentifier.of(operator)
        known = identifier in self._new or identifier.operator_id in self._kept_ids()
        if not known:
            raise FunctionTypeError(f"the savepoint has no operator with {identifier}")
        self._new.pop(identifier, None)
        self._removed.add(identifier.operator_id)
        return self

    def write(self, path: str) -> str:
        """Writes the savepoint to a directory that does not exist yet; returns the directory."""
        directory = path.rstrip("/")
        if Storages().of(directory).exists(join(directory, METADATA)):
            raise CheckpointError(
                f"{directory} is already a savepoint; use another directory",
                CheckpointFailureReason.NOT_CONFIGURED,
            )
        existing = self._existing
        copied, copied_seals = self._copied(directory)
        made, made_seals = self._bootstrapped(directory)
        entries, seals = [*copied, *made], copied_seals | made_seals
        operator_ids = {entry.operator_id for entry in entries}
        sources = {} if existing is None else existing.sources
        CompletedCheckpoint(
            CheckpointId(1 if existing is None else existing.checkpoint),
            directory,
            "0" * 32 if existing is None else existing.job_id,
            int(time.time() * 1000),
            savepoint=True,
            operators=tuple(entries),
            sources={o: s for o, s in sources.items() if o in operator_ids},
            size=sum(seal.size for seal in seals.values()),
            seals=seals,
        ).write_metadata()
        return directory

    # Inside.

    def _kept(self) -> list[OperatorEntry]:
        if self._existing is None:
            return []
        return [o for o in self._existing.operators if o.operator_id not in self._removed]

    def _kept_ids(self) -> set[str]:
        return {entry.operator_id for entry in self._kept()}

    def _copied(self, directory: str) -> tuple[list[OperatorEntry], dict[str, Seal]]:
        """The operators that stay, with files of their own."""
        kept = self._kept()
        seals: dict[str, Seal] = {}
        target = Storages().of(directory)
        for entry in kept:
            assert self._existing is not None
            refs = (ref for chain in self._existing.chains_of(entry) for ref in chain)
            files = (_copied_name(file) for chain in entry.chains for file in chain)
            for ref, name in zip(refs, files, strict=True):
                if name in seals:
                    continue
                source = Storages().of(ref.path)
                ref.read(source)
                seals[name] = ref.seal or seal_of(source, ref.path)
                with source.open(ref.path) as old, target.create(join(directory, name)) as new:
                    shutil.copyfileobj(old, new, _COPY_BYTES)
        return [_copied_entry(entry) for entry in kept], seals

    def _bootstrapped(self, directory: str) -> tuple[list[OperatorEntry], dict[str, Seal]]:
        from headrace.spark.savepoints import write_files

        entries = []
        seals: dict[str, Seal] = {}
        for identifier, transformation in self._new.items():
            parallelism = 1 if transformation.broadcast else self._parallelism
            bootstrap = Bootstrap(
                identifier.operator_id,
                transformation.function,
                transformation.key,
                parallelism,
                self._max_parallelism,
            )
            files = tuple(
                f"{identifier.operator_id}-{subtask}.bootstrap" for subtask in range(parallelism)
            )
            paths = [join(directory, f) for f in files]
            written = write_files(transformation.data, bootstrap, paths)
            seals |= zip(files, written, strict=True)
            entries.append(self._entry(identifier, parallelism, files))
        return entries, seals

    def _entry(
        self, identifier: OperatorIdentifier, parallelism: int, files: tuple[str, ...]
    ) -> OperatorEntry:
        name: Any = identifier.uid or identifier.operator_id
        return OperatorEntry(
            identifier.operator_id, identifier.uid, name, parallelism, self._max_parallelism, files
        )


def _copied_name(file: str) -> str:
    """The name of a copy: files of several checkpoints come together in one directory."""
    return "-".join(part for part in file.split("/") if part != "..")


def _copied_entry(entry: OperatorEntry) -> OperatorEntry:
    bases = tuple(tuple(map(_copied_name, chain)) for chain in entry.bases)
    return replace(entry, files=tuple(map(_copied_name, entry.files)), bases=bases)
