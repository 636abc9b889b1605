"""What a connector is made of.

A source is an *enumerator*, which lives with the job master, finds splits and gives them to
subtasks, and *readers*, one in each subtask, which read their splits from a position and remember
how far they came. A sink is *writers*, one in each subtask, and, where nothing may be seen before
it counts, *committers* beside them. All of it works on batches of records.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from headrace.common.configuration import Configuration
from headrace.common.errors import HeadraceError
from headrace.common.typeinfo import TypeInformation

__all__ = [
    "Committer",
    "DeliveryGuarantee",
    "GlobalCommitter",
    "ReadBatch",
    "ReaderContext",
    "RetriableCommitError",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceReader",
    "SourceSplit",
    "SplitEnumerator",
    "StaticEnumerator",
    "WriterContext",
]


class DeliveryGuarantee(enum.Enum):
    """How often a record arrives when something fails."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class SourceSplit(Protocol):
    """A part of the input that one reader reads, with the position it starts from. Picklable."""

    @property
    def split_id(self) -> str:
        """The same for the same part, whatever the position."""


class ColumnRows(Sequence[Any]):
    """Records that stay columns until somebody looks at a single one.

    Attributes:
        columns: The columns, at least one.
        make: Makes the records of them.
    """

    __slots__ = ("_made", "columns", "make")

    def __init__(self, columns: list[Any], make: Callable[[list[Any]], list[Any]]) -> None:
        self.columns = columns
        self.make = make
        self._made: list[Any] | None = None

    def _records(self) -> list[Any]:
        if self._made is None:
            self._made = self.make(self.columns)
        return self._made

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: Any) -> Any:
        return self._records()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records())


@dataclass(slots=True)
class ReadBatch:
    """Records of one split. Without timestamps the records have none until a strategy assigns them.

    Attributes:
        split_id: The split they come from.
        values: The records, perhaps as `ColumnRows`; may be empty when there is a mark.
        timestamps: Event times, one for each record.
        watermark: The source's own promise that nothing earlier or equal follows after these
            records. It counts where the program gives no watermark strategy.
        idle: True: after these records the split has nothing for a while, and nobody need wait for
            it. It ends with the next record or watermark.
        columns: True: the only value is an Arrow batch, and its rows are the records.
    """

    split_id: str
    values: list[Any]
    timestamps: list[int] | None = None
    watermark: int | None = None
    idle: bool = False
    columns: bool = False


class ReaderContext(Protocol):
    """What a reader may use."""

    @property
    def subtask(self) -> int:
        """Number of the subtask, from 0."""

    @property
    def parallelism(self) -> int:
        """Number of readers."""

    @property
    def runtime_context(self) -> Any:
        """The `RuntimeContext` of the source's operator."""

    def now_ms(self) -> int:
        """Processing time."""

    @property
    def finds_idleness(self) -> bool:
        """Whether the program wants idle splits to be found (`with_idleness`)."""

    def data_available(self) -> None:
        """Say, from any thread, that `poll` has something again."""

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        """Make a dead letter of something that cannot be deserialized, in `poll`.

        Returns:
            Whether the program wants that (`on_error`); if not, raise the error.
        """


class SourceReader(ABC):
    """Reads splits in a subtask, from `open` to `close` in one process.

    `poll` is called in a loop until the epoch's budget is used up or it returns None.
    """

    @property
    def user_function(self) -> Any:
        """The user's function object behind the reader, if the operator keeps its state.

        If it is a `CheckpointedFunction` the runtime gives it its state before `open`, and asks for
        it between `on_checkpoint` and `snapshot`; if it is a `CheckpointListener` it hears how
        checkpoints end.
        """
        return None

    def open(self) -> None:  # noqa: B027
        """Called once, before the first split."""

    @abstractmethod
    def add_splits(self, splits: Sequence[Any]) -> None:
        """Take over splits: new ones, or those of a checkpoint with their positions."""

    @abstractmethod
    def poll(self, max_records: int) -> ReadBatch | None:
        """At most `max_records` records that are there now; None if there are none. Never waits."""

    @abstractmethod
    def snapshot(self) -> list[Any]:
        """The splits that are not finished, with positions after the last record polled."""

    def on_checkpoint(self, checkpoint: int) -> None:  # noqa: B027
        """A checkpoint is taken: `snapshot` is called next."""

    def on_checkpoint_complete(self, checkpoint: int) -> None:  # noqa: B027
        """The checkpoint is complete: what was read before it is never read again."""

    def feed(self, payloads: Iterator[bytes]) -> None:
        """Take what Spark reads in this epoch; `poll` is then called until it gives None.

        Only called if `Source.fed_by_spark`.
        """
        raise NotImplementedError(f"{type(self).__name__} is not fed by Spark")

    def available_at(self, now_ms: int) -> int | None:
        """When `poll` may give records again, after it gave None.

        None: when `ReaderContext.data_available` is called, or a new split comes.
        """
        return None

    def finished_splits(self) -> Iterable[str]:
        """Ids of splits that were read to their end since this was last asked."""
        return ()

    def drained_splits(self) -> Iterable[str] | None:
        """Ids of splits that have nothing more to read now; only these become idle.

        None, the default: all of them whenever `poll` gives None. Who reads splits together should
        tell them apart, since one that always has records would keep the others from being idle.
        """
        return None

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether all splits so far were read to their end."""

    def close(self) -> None:  # noqa: B027
        """Called once, also after a failure."""


class SplitEnumerator(ABC):
    """Finds splits and says which subtask reads them. Lives with the job master."""

    @abstractmethod
    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        """New splits for each subtask. Called before an epoch."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether no further split will ever come."""

    def next_discovery(self, now_ms: int) -> int | None:
        """When `discover` should be called again; None if never by time alone."""
        return None

    def on_all_read(self) -> None:  # noqa: B027
        """After an epoch: the readers have read all splits that were given out to their end."""

    def snapshot(self) -> Any:
        """State for a checkpoint."""
        return None

    def restore(self, snapshot: Any) -> None:  # noqa: B027
        """Take over the state of a checkpoint; splits given out come back with the readers."""

    def close(self) -> None:  # noqa: B027
        """Called at the end."""


class StaticEnumerator(SplitEnumerator):
    """Splits that are all known at the start: split i goes to subtask i modulo parallelism."""

    def __init__(self, splits: Sequence[Any], parallelism: int) -> None:
        self._splits: list[Any] | None = list(splits)
        self._parallelism = parallelism

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        splits, self._splits = self._splits or [], None
        dealt: dict[int, list[Any]] = {}
        for number, split in enumerate(splits):
            dealt.setdefault(number % self._parallelism, []).append(split)
        return dealt

    @property
    def finished(self) -> bool:
        return self._splits is None

    def snapshot(self) -> Any:
        return self._splits is None

    def restore(self, snapshot: Any) -> None:
        if snapshot:
            self._splits = None


class Source(ABC):
    """Describes where records come from. Picklable."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether the source comes to an end."""

    @property
    def max_parallel_readers(self) -> int | None:
        """The highest parallelism that makes sense; 1 for a source that cannot be split."""
        return None

    @property
    def fed_by_spark(self) -> bool:
        """Whether Spark reads the splits, as part of the epoch's job, and not the readers.

        See `headrace.datastream.connectors.spark_source`.
        """
        return False

    @property
    def reads_whole_splits(self) -> bool:
        """Whether splits that the enumerator gives out for an epoch are read to their end in it.

        It decides then how long the epoch is, and a checkpoint has no positions of readers.
        """
        return self.fed_by_spark

    @property
    def imports(self) -> tuple[str, ...]:
        """Packages that readers import only when they read; slots begin with that."""
        return ("pyarrow.compute",) if self.reads_whole_splits else ()

    @property
    def produced_type(self) -> TypeInformation | None:
        """The type of the records, if the source knows it; the program may declare another one."""
        return None

    @property
    def reads_splits_together(self) -> bool:
        """Whether a reader reads all of its splits at the same time.

        The watermark then waits for each of them from the moment it is assigned, and not only from
        its first record.
        """
        return False

    def for_configuration(self, configuration: Configuration) -> Source:
        """The source in a job with these settings; called while the program is built."""
        return self

    def probe(self) -> str:
        """Look whether what is read can be reached from here; changes nothing, and waits briefly.

        Returns:
            What was reached, in a few words; empty if there is nothing to reach.

        Raises:
            HeadraceError: What is missing, and what to do.
        """
        return ""

    @abstractmethod
    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Called with the job master, once in a job."""

    @abstractmethod
    def create_reader(self, context: ReaderContext) -> SourceReader:
        """Called in each subtask, once."""


class RetriableCommitError(HeadraceError):
    """A commit did not succeed now but may do so later, for example because a server is away.

    It is repeated after a while, several times, before the job fails.
    """


class WriterContext(Protocol):
    """What a writer and a committer may use."""

    @property
    def subtask(self) -> int:
        """Number of the subtask, from 0."""

    @property
    def parallelism(self) -> int:
        """Number of writers."""

    @property
    def runtime_context(self) -> Any:
        """The `RuntimeContext` of the sink's operator."""

    @property
    def job_id(self) -> str:
        """Id of the job."""

    @property
    def operator_id(self) -> str:
        """Id of the sink's operator, the same after every restore of the job."""

    @property
    def attempt(self) -> int:
        """Rises whenever the subtasks of a job are started anew, after a failure for instance."""

    @property
    def checkpointing(self) -> bool:
        """Whether the job takes checkpoints; if not, every epoch is committed when it is over."""

    @property
    def restored_checkpoint(self) -> int | None:
        """Number of the checkpoint that the job goes on from, if it does."""

    @property
    def restored_state(self) -> Sequence[Any]:
        """What `SinkWriter.snapshot` of earlier writers gave; at another parallelism, a share."""

    @property
    def restored_committables(self) -> Sequence[Any]:
        """All that the restored checkpoint was to commit, whichever subtask wrote it.

        A writer that cleans up what failed attempts left behind must leave these alone: those of
        other subtasks may not be committed yet.
        """

    def now_ms(self) -> int:
        """Processing time."""

    def current_watermark(self) -> int:
        """Event time of the sink."""

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        """Show lines in the terminal of the program."""

    def collect(self, collect_id: str, values: list[Any]) -> None:
        """Hand records to the program's iterator."""


class SinkWriter(ABC):
    """Writes the records of one subtask.

    At the end of every epoch `flush` is called. At a checkpoint `prepare_commit` and `snapshot`
    follow; in a job without checkpoints `prepare_commit` follows in every epoch.
    """

    @property
    def user_function(self) -> Any:
        """The user's function object behind the writer, if there is one.

        It takes part in checkpoints: if it is a `CheckpointedFunction` or `ListCheckpointed` the
        runtime gives it its state before `open`, and asks for it at every checkpoint; if it is a
        `CheckpointListener` it hears how they end.
        """
        return None

    def open(self) -> None:  # noqa: B027
        """Called once, before the first record."""

    @abstractmethod
    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write a batch."""

    def record_of_failure(self) -> tuple[Any, ...]:
        """The record that `write` was at when it raised, alone in a tuple; () if not known."""
        return ()

    def on_watermark(self, timestamp: int) -> None:  # noqa: B027
        """The sink's watermark has advanced."""

    def flush(self, end_of_input: bool) -> None:  # noqa: B027
        """The epoch is over: hand over everything that is buffered."""

    def flush_at(self, now_ms: int) -> int | None:
        """When `flush` should be called again although no record comes; None if it need not."""
        return None

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        """What is to be committed with a checkpoint: everything written and not handed over before.

        The objects must be picklable: they are part of the checkpoint, and reach the committer when
        it is complete. Called after `flush`, at the barrier. A checkpoint may be given up later;
        what it was to commit is then committed with the next one.

        Args:
            checkpoint: Number of the checkpoint; it only rises.
            end_of_input: Whether no further record will come.
        """
        return []

    def snapshot(self) -> list[Any]:
        """State of the writer, in picklable pieces: `WriterContext.restored_state` after a restore.

        Called after `prepare_commit`, at the barrier.
        """
        return []

    def close(self) -> None:  # noqa: B027
        """Called once, also after a failure. What is not committed must not appear."""


class Committer(ABC):
    """Makes visible what a writer has prepared, once the checkpoint that has it is complete."""

    @abstractmethod
    def commit(self, committables: list[Any]) -> None:
        """Commit what `prepare_commit` of this subtask's writer gave, in that order.

        After a recovery it is called again for everything that the restored checkpoint contains,
        before a writer is created. What is committed already must be left as it is.

        Raises:
            RetriableCommitError: To be called again a little later with the same objects. Any other
                exception fails the job, and so it is called again after the recovery.
        """

    def close(self) -> None:  # noqa: B027
        """Called once, also after a failure."""


class GlobalCommitter(ABC):
    """Commits in one place what the committers of all subtasks have made ready.

    It lives with the job master, where the Spark session is.
    """

    @abstractmethod
    def commit(self, checkpoint: int, restored: str | None = None) -> None:
        """Commit what belongs to checkpoints up to this one, which all subtasks have committed.

        Called between two epochs, and before a job ends. What is committed already must be left as
        it is. An exception fails the job, and so it is called again after the recovery.

        Args:
            checkpoint: Number of the checkpoint.
            restored: The job that took this checkpoint, if this one goes on from it.
        """

    def check_beside(self, other: GlobalCommitter) -> None:  # noqa: B027
        """Called when the job is made, with the committer of each other sink.

        Raises:
            GraphError: The two would get in each other's way.
        """


class Sink(ABC):
    """Describes where records go. Picklable."""

    discards: ClassVar[bool] = False
    """Whether records are dropped unseen, so that nobody need make them of columns."""

    def for_type(self, type_info: TypeInformation | None) -> Sink:
        """The sink for a stream of a declared type; called while the program is built."""
        return self

    def for_configuration(self, configuration: Configuration) -> Sink:
        """The sink in a job with these settings; called while the program is built."""
        return self

    def probe(self) -> str:
        """Look whether what is written can be reached from here: see `Source.probe`."""
        return ""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Called in each subtask, once."""

    def create_committer(self, context: WriterContext) -> Committer | None:
        """Called in each subtask, once, before `create_writer`; None if nothing is committed."""
        return None

    def create_global_committer(self, job_id: str) -> GlobalCommitter | None:
        """Called with the job master, once in a job; None if the subtasks commit everything."""
        return None
