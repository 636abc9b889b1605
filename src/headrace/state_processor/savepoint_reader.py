"""State of a savepoint as DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from headrace.common.errors import FunctionTypeError, StateError
from headrace.coordination.checkpoint_store import (
    CompletedCheckpoint,
    OperatorEntry,
    load_checkpoint,
)
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.state_processor import tasks
from headrace.state_processor.functions import KeyedStateReaderFunction
from headrace.state_processor.operator_identifier import OperatorIdentifier

__all__ = ["SavepointOperator", "SavepointReader"]


@dataclass(frozen=True)
class SavepointOperator:
    """An operator in a savepoint.

    Attributes:
        uid: Its uid, if the program gave it one.
        operator_id: The id by which state is found.
        name: Its name.
        parallelism: How many subtasks wrote the savepoint.
        max_parallelism: The number of key groups.
        keyed_states: Kind and type of each keyed state, by name.
        operator_states: Kind and type of each list, union list and broadcast state, by name.
    """

    uid: str | None
    operator_id: str
    name: str
    parallelism: int
    max_parallelism: int
    keyed_states: dict[str, str]
    operator_states: dict[str, str]


class SavepointReader:
    """Reads a savepoint or a retained checkpoint.

    Example::

        reader = SavepointReader.read("savepoints/savepoint-1a2b3c-4d5e6f")
        counts = reader.read_keyed_state("count", "visits")
        counts.where("value > 100").show()
    """

    def __init__(self, checkpoint: CompletedCheckpoint, spark: Any = None) -> None:
        self._checkpoint = checkpoint
        self._spark = spark

    @staticmethod
    def read(path: str, spark: Any = None) -> SavepointReader:
        """Opens a savepoint or checkpoint.

        An incremental checkpoint is read together with those that it builds upon, so the directory
        of its job has to be whole.

        Args:
            path: Its directory, or the `_metadata` file in it.
            spark: The Spark session to use; the active one, or a local one if left out.
        """
        return SavepointReader(load_checkpoint(path), spark)

    def operators(self) -> list[SavepointOperator]:
        """All operators, with what they have."""
        return [self._described(entry) for entry in self._checkpoint.operators]

    def read_keyed_state(
        self,
        operator: OperatorIdentifier | str,
        state: str | KeyedStateReaderFunction,
        schema: Any = None,
    ) -> Any:
        """One keyed state as a DataFrame, or several states of each key through a function.

        With the name of a state there is a row for each entry: `key`, `value`, and between them
        `namespace` for the states of windows. Values are as they are stored: lists and maps in one
        row, accumulators for aggregating state.

        Args:
            operator: The operator's uid, or an `OperatorIdentifier`.
            state: The name of the state, or a function that reads the states of one key.
            schema: The columns, as Spark takes them. Needed with a function; otherwise types that
                are declared or easily seen need none.

        Returns:
            A Spark DataFrame. What each subtask wrote is one partition.
        """
        entry = self._entry(operator)
        if isinstance(state, KeyedStateReaderFunction):
            if schema is None:
                raise FunctionTypeError(
                    "read_keyed_state() with a function needs the schema of its rows, for example "
                    "schema='key string, total bigint'"
                )
            function = cloudpickle.dumps(state)
            read = partial(_rows_of_function, entry.operator_id, function)
            return self._frame(entry, read, None, schema)
        self._require_state(entry, state, self._described(entry).keyed_states)
        namespaced = "for each key and window" in self._described(entry).keyed_states[state]
        columns = ("key", "namespace", "value") if namespaced else ("key", "value")
        return self._frame(
            entry, partial(_rows_of_state, entry.operator_id, state), columns, schema
        )

    def read_list_state(
        self, operator: OperatorIdentifier | str, state: str, schema: Any = None
    ) -> Any:
        """The elements of a list state of all subtasks: a DataFrame with the column `value`."""
        return self._read_operator_state(operator, state, schema, ("value",), "split")

    def read_union_state(
        self, operator: OperatorIdentifier | str, state: str, schema: Any = None
    ) -> Any:
        """The elements of a union list state: a DataFrame with the column `value`."""
        return self._read_operator_state(operator, state, schema, ("value",), "union")

    def read_broadcast_state(
        self, operator: OperatorIdentifier | str, state: str, schema: Any = None
    ) -> Any:
        """The entries of a broadcast state: a DataFrame with the columns `key` and `value`."""
        return self._read_operator_state(operator, state, schema, ("key", "value"), "broadcast")

    def _read_operator_state(
        self,
        operator: OperatorIdentifier | str,
        state: str,
        schema: Any,
        columns: tuple[str, ...],
        mode: str,
    ) -> Any:
        entry = self._entry(operator)
        known = self._described(entry).operator_states
        self._require_state(entry, state, known)
        if not known[state].startswith(mode):
            raise StateError(
                f"state {state!r} is {known[state]}, not {mode}: read it with the method for that"
            )
        read = partial(_rows_of_operator_state, entry.operator_id, state, len(columns))
        # Every subtask has the same copy of broadcast state.
        one = slice(1) if mode == "broadcast" else slice(None)
        return self._frame(entry, read, columns, schema, one)

    # Inside.

    def _entry(self, operator: OperatorIdentifier | str) -> OperatorEntry:
        wanted = OperatorIdentifier.of(operator)
        for entry in self._checkpoint.operators:
            if entry.operator_id == wanted.operator_id:
                return entry
        known = ", ".join(
            f"{o.name!r} ({'uid hash ' + o.operator_id if o.uid is None else 'uid ' + o.uid})"
            for o in self._checkpoint.operators
        )
        raise StateError(
            f"{self._checkpoint.directory} has no operator with {wanted}; it has {known or 'none'}"
        )

    def _described(self, entry: OperatorEntry) -> SavepointOperator:
        # The newest file of a chain knows all states, also those that did not change.
        newest = (chain[-1] for chain in self._checkpoint.chains_of(entry))
        summary = tasks.summary_of(newest, entry.operator_id)
        return SavepointOperator(
            entry.uid,
            entry.operator_id,
            entry.name,
            entry.parallelism,
            entry.max_parallelism,
            summary.keyed,
            summary.operator,
        )

    @staticmethod
    def _require_state(entry: OperatorEntry, state: str, known: dict[str, str]) -> None:
        if state not in known:
            raise StateError(
                f"operator {entry.name!r} has no such state {state!r} in the savepoint; it has "
                f"{', '.join(sorted(known)) or 'none of this kind'}"
            )

    def _frame(
        self,
        entry: OperatorEntry,
        read: Any,
        columns: tuple[str, ...] | None,
        schema: Any,
        subtasks: slice = slice(None),
    ) -> Any:
        from headrace.spark.savepoints import frame_of_files

        return frame_of_files(
            self._checkpoint.chains_of(entry)[subtasks], read, columns, schema, self._spark
        )


def _rows_of_state(operator_id: str, state: str, chain: list[SnapshotRef]) -> Iterator[Any]:
    return tasks.keyed_rows(chain, operator_id, state)


def _rows_of_operator_state(
    operator_id: str, state: str, columns: int, chain: list[SnapshotRef]
) -> Iterator[Any]:
    rows = tasks.operator_rows(chain, operator_id, state)
    return iter(rows) if columns > 1 else ((row,) for row in rows)


def _rows_of_function(operator_id: str, function: bytes, chain: list[SnapshotRef]) -> Iterator[Any]:
    return tasks.read_with_function(chain, operator_id, function)
