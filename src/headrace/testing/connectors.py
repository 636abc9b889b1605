"""What every connector must do, as checks that its author runs.

A source gives each record once, and a sink has each record once (or at least once), whatever
happens in between: failures between epochs, going back to an older checkpoint, another
parallelism. What cannot be read or written is never passed over in silence. A table that is looked
up gives the rows of each key, and a catalog finds what it lists. Jobs run in this process, and
connectors are their real ones.

Example:
    >>> def test_my_source() -> None:
    ...     check_source(lambda: MySource("orders"), expected=[1, 2, 3], bad=[b"no number"])
    >>> def test_my_sink() -> None:
    ...     check_sink(MySink, ["a", "b"], Types.STRING(), read=my_rows, clear=my_delete)
    >>> def test_my_catalog() -> None:
    ...     check_catalog(lambda: MyCatalog("mine"), {"shop": ["items", "orders"]})
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError, JobExecutionError
from headrace.common.typeinfo import TypeInformation
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import (
    Committer,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    Source,
    WriterContext,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.dead_letter import DeadLetter
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.testing.runner import MiniRunner
from headrace.util.exceptions import (
    CatalogException,
    TableAlreadyExistException,
    TableNotExistException,
)

if TYPE_CHECKING:
    from headrace.sql.catalog import CatalogStore
    from headrace.table import StreamTableEnvironment

__all__ = ["check_catalog", "check_lookup", "check_sink", "check_source"]

_EPOCHS = 50
"""Failures happen in so many epochs at most; a job then runs to its end."""

_QUIET_S = 0.3
"""A source that gives nothing for so long may have nothing now."""

_NEVER_MS = 10**12

_LATE_EPOCHS = 5
"""What a source without an end gives too often, it gives before or in so many more epochs."""


class _Job(MiniRunner):
    """A job in real time; one whose source has no end is over when it has done enough.

    What a connector waits for does not come sooner on a simulated clock.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        epoch_records: int,
        enough: Callable[[], bool] | None = None,
    ) -> None:
        graph = build_job_graph(env.get_stream_graph("contract", clear=True))
        super().__init__(
            graph, epoch_records=epoch_records, clock=lambda: time.time_ns() // 1_000_000
        )
        self._enough = enough

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self.finished or (self._enough is not None and self._enough())

    def advance(self) -> None:
        """Run epochs until one has read something, or nothing comes."""
        deadline = time.monotonic() + _QUIET_S
        read = sum(self.records_per_epoch)
        while not self.over and sum(self.records_per_epoch) == read:
            if time.monotonic() > deadline:
                return
            self.run_epoch()

    def come_to_an_end(self, patience_s: float) -> None:
        """Run until the job is over, or has not come on for too long."""
        if self._enough is None:
            while not self.finished:
                self.run_epoch()
            return
        deadline = time.monotonic() + patience_s
        self.checkpoint()
        while not self.over and time.monotonic() < deadline:
            self.advance()
            self.checkpoint()
        for _ in range(_LATE_EPOCHS):
            self.run_epoch()
        self.checkpoint()


Course = Callable[[_Job], None]


def _undisturbed(job: _Job) -> None:
    """Nothing happens."""


def _failing(job: _Job) -> None:
    """Each epoch is followed by a failure, before subtasks hear of their checkpoint or after."""
    heard = False
    while not job.over and job.epochs < _EPOCHS:
        job.advance()
        if not job.finished:
            job.restore(job.checkpoint() if heard else job.snapshot())
        heard = not heard


def _going_back(job: _Job) -> None:
    """What was done since a checkpoint is done again."""
    while not job.over and job.epochs < _EPOCHS:
        job.advance()
        if job.finished:
            return
        snapshot = job.snapshot()
        job.advance()
        if not job.finished:
            job.restore(snapshot)
        # Once more, so that the job comes on.
        job.advance()


def _rescaled(job: _Job) -> None:
    """Every second epoch has another parallelism."""
    for parallelism in (3, 1, 4, 2):
        for _ in range(2):
            job.advance()
        if not job.finished:
            job.rescale(parallelism)


_COURSES: dict[str, Course] = {
    "without a failure": _undisturbed,
    "with failures between epochs": _failing,
    "with epochs that are done again": _going_back,
    "at other parallelisms": _rescaled,
}


def check_source(
    make: Callable[[], Source],
    expected: Collection[Any],
    *,
    bad: Collection[Any] = (),
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    parallelisms: Sequence[int] = (1, 3),
    epoch_records: int = 2,
    patience_s: float = 60.0,
) -> None:
    """Check that a source gives its records once, whatever happens.

    A source without an end is stopped when all records have come.

    Args:
        make: Makes the source; it is called for each run. If reading takes something away, as from
            a queue, it also puts it there again.
        expected: All records, in any order.
        bad: What of the input cannot be read, as `DeadLetter.record` has it. With `on_error` each
            has to be set aside once, and a job without has to fail, also after a restart.
        guarantee: With `AT_LEAST_ONCE`, records may come several times.
        parallelisms: Numbers of readers to begin with.
        epoch_records: How many records a reader may give in an epoch; fewer than there are.
        patience_s: How long to wait for records of a source without an end.

    Raises:
        AssertionError: Records are missing, doubled or others, with what happened in the run.
    """
    repeats = guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    for parallelism in parallelisms:
        for name, course in _COURSES.items():
            source = make()
            env = _environment(parallelism)
            committed, letters = _CommittedRecords.new(), _CommittedRecords.new()
            stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
            if bad:
                failed = OutputTag("bad")
                stream.on_error(failed).get_side_output(failed).map(_record_of).sink_to(letters)
            stream.sink_to(committed)

            def enough(good: _CommittedRecords = committed, bads: Any = letters) -> bool:
                return not _difference(good.records, expected)[0] and (
                    not _difference(bads.records, bad)[0]
                )

            job = _Job(env, epoch_records, None if source.bounded else enough)
            _run(job, course, patience_s)
            where = f"{name}, beginning with {parallelism} readers"
            _compare(committed.records, expected, where, repeats)
            _compare(letters.records, bad, f"{where}: of those that cannot be read", repeats)
            committed.forget()
            letters.forget()
    if bad:
        env = _environment(parallelisms[0])
        stream = env.from_source(make(), WatermarkStrategy.no_watermarks(), "source")
        stream.sink_to(_CommittedRecords.new())
        _expect_failure(_Job(env, epoch_records), f"{next(iter(bad))!r} cannot be read", patience_s)


def check_sink(
    make: Callable[[], Sink],
    records: Sequence[Any],
    type_info: TypeInformation | None,
    *,
    read: Callable[[], Collection[Any]],
    clear: Callable[[], None],
    bad: Any = None,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    key: Callable[[Any], Any] | None = None,
    expected: Collection[Any] | None = None,
    parallelisms: Sequence[int] = (1, 3),
    epoch_records: int | None = None,
) -> None:
    """Check that a sink has the records of a stream, whatever happens.

    Args:
        make: Makes the sink; it is called for each run.
        records: The records that are written; use a hundred or so.
        type_info: Their type.
        read: What the sink has after a run.
        clear: Empties what is written to; called before each run.
        bad: A record of that type that cannot be written, because of its schema or because the
            other end refuses it. A job that has it has to fail, also after a restart.
        guarantee: With `AT_LEAST_ONCE`, records may be there several times.
        key: By what the stream is keyed before the sink, for one that needs changes in order.
        expected: What `read` should give; the records without it.
        parallelisms: Numbers of writers to begin with.
        epoch_records: How many of them an epoch has; a twentieth without it.

    Raises:
        AssertionError: Records are missing, doubled or others, with what happened in the run.
    """
    epoch_records = epoch_records or max(len(records) // 20, 1)

    def job_of(given: list[Any], parallelism: int) -> _Job:
        clear()
        env = _environment(parallelism)
        stream: DataStream[Any] = env.from_collection(given, type_info)
        if key is not None:
            stream = stream.key_by(key).map(_same, type_info)
        stream.sink_to(make())
        return _Job(env, epoch_records)

    for parallelism in parallelisms:
        for name, course in _COURSES.items():
            _run(job_of(list(records), parallelism), course)
            wanted = records if expected is None else expected
            where = f"{name}, beginning with {parallelism} writers"
            _compare(read(), wanted, where, guarantee is DeliveryGuarantee.AT_LEAST_ONCE)
    if bad is not None:
        _expect_failure(job_of([*records, bad], parallelisms[0]), f"{bad!r} cannot be written")


def check_lookup(
    declare: Callable[[StreamTableEnvironment], str],
    rows: Sequence[Mapping[str, Any]],
    key: str,
    *,
    missing: Sequence[Any] = (),
    parallelisms: Sequence[int] = (1, 3),
) -> None:
    """Check that a table gives a lookup join the rows of each key, whatever happens.

    Args:
        declare: Declares the table in an environment, by `create_temporary_lookup_table` or in
            SQL, and returns its name; it is called for each run.
        rows: All rows of the table, by column. Some keys should have several.
        key: The column that the join compares.
        missing: Keys that the table does not have.
        parallelisms: Numbers of subtasks to begin with.

    Raises:
        AssertionError: Rows are missing, doubled or others, with what happened in the run.
    """
    # Only here, as testing a function needs no SQL.
    from headrace.table import DataTypes, StreamTableEnvironment

    # Some keys are asked for more than once, in one batch and in several.
    asked = [*dict.fromkeys(row[key] for row in rows), *missing] * 3
    expected = [(k, *row.values()) for k in asked for row in rows if row[key] == k]
    expected += [(k, *[None] * len(rows[0])) for k in asked if k in missing]
    columns = ", ".join(f"t.`{name}`" for name in rows[0])
    for parallelism in parallelisms:
        for name, course in _COURSES.items():
            env = _environment(parallelism)
            tables = StreamTableEnvironment.create(env)
            table = declare(tables)
            type_ = tables.from_path(table).get_schema().get_field_data_type(key)
            if type_ is None:
                raise GraphError(f"table {table} has no column {key!r}")
            fields = DataTypes.ROW([DataTypes.FIELD("k", type_)])
            tables.create_temporary_view(
                "asked_keys", tables.from_elements([(k,) for k in asked], fields)
            )
            found = tables.sql_query(
                f"SELECT a.k, {columns} FROM (SELECT k, PROCTIME() AS p FROM asked_keys) AS a "
                f"LEFT JOIN {table} FOR SYSTEM_TIME AS OF a.p AS t ON t.`{key}` = a.k"
            )
            committed = _CommittedRecords.new()
            tables.to_data_stream(found).sink_to(committed)
            _run(_Job(env, epoch_records=2), course)
            joined = [tuple(row) for row in committed.records]
            committed.forget()
            _compare(joined, expected, f"{name}, beginning with {parallelism} subtasks")


def check_catalog(make: Callable[[], CatalogStore], tables: Mapping[str, Collection[str]]) -> None:
    """Check that a catalog finds what it lists, and changes what it says it has changed.

    A catalog that creates tables gets a copy of one of its own, which is dropped again.

    Args:
        make: Makes the catalog; each has to see what the others have done.
        tables: Names of the tables and views of each database.

    Raises:
        AssertionError: What is wrong.
    """
    catalog, other = make(), make()
    assert catalog.default_database in tables, (
        f"the default database {catalog.default_database!r} is not one of {sorted(tables)}"
    )
    _expect_names("list_databases()", catalog.list_databases(), tables)
    unknown = "no_such_name"
    assert catalog.find_database(unknown) is None, "find_database() finds what is not there"
    for database, names in tables.items():
        assert catalog.find_database(database) is not None, f"{database!r} is listed, not found"
        _expect_names(f"list_tables({database!r})", catalog.list_tables(database), names)
        assert catalog.find_table(database, unknown) is None, "find_table() finds what is not there"
        for name in names:
            where = f"table {database}.{name}"
            found, again = catalog.find_table(database, name), other.find_table(database, name)
            assert found is not None, f"{where} is listed, not found"
            assert found == again, f"{where} is another one for a second catalog"
    database, name = next((d, n) for d, names in tables.items() for n in names)
    _check_changes(catalog, other, database, name)


def _check_changes(catalog: CatalogStore, other: CatalogStore, database: str, name: str) -> None:
    entry, copy = catalog.find_table(database, name), f"{name}_copy"
    assert entry is not None
    try:
        assert catalog.create_table(database, copy, entry, ignore_if_exists=False), (
            "create_table() says that there was a table already"
        )
    except CatalogException as refusal:
        text = str(refusal)
        assert catalog.name in text, f"the refusal does not name the catalog: {text}"
        return
    assert other.find_table(database, copy) is not None, "a table that was created is not found"
    assert copy in other.list_tables(database), "a table that was created is not listed"
    assert not catalog.create_table(database, copy, entry, ignore_if_exists=True), (
        "create_table() says that it has created a table that was there"
    )
    _expect_error(
        TableAlreadyExistException, lambda: catalog.create_table(database, copy, entry, False)
    )
    catalog.drop_table(database, copy, ignore_if_not_exists=False)
    assert other.find_table(database, copy) is None, "a table that was dropped is found"
    assert copy not in other.list_tables(database), "a table that was dropped is listed"
    catalog.drop_table(database, copy, ignore_if_not_exists=True)
    _expect_error(TableNotExistException, lambda: catalog.drop_table(database, copy, False))


def _expect_names(what: str, found: Sequence[str], expected: Collection[str]) -> None:
    assert list(found) == sorted(expected), f"{what} is {found}, not {sorted(expected)}"


def _expect_error(kind: type[Exception], call: Callable[[], Any]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} was raised")


def _same(record: Any) -> Any:
    return record


def _record_of(letter: DeadLetter) -> Any:
    return letter.record


def _environment(parallelism: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    # When checkpoints are taken is up to the course of events.
    return env.enable_checkpointing(_NEVER_MS).set_parallelism(parallelism)


def _run(job: _Job, course: Course, patience_s: float = 0.0) -> None:
    log = logging.getLogger("headrace.coordination")
    level = log.level
    # Its failures are made on purpose.
    log.setLevel(logging.ERROR)
    try:
        job.open(checkpointing=True)
        course(job)
        job.come_to_an_end(patience_s)
        job.close()
    except BaseException:
        job.close(quietly=True)
        raise
    finally:
        log.setLevel(level)


def _expect_failure(job: _Job, why: str, patience_s: float | None = None) -> None:
    """A job has to fail, and to fail again when it goes on from its last checkpoint."""
    deadline = None if patience_s is None else time.monotonic() + patience_s

    def go_on(job: _Job) -> None:
        job.restart_after_failure()
        while not job.finished and (deadline is None or time.monotonic() < deadline):
            job.checkpoint()
            job.advance()
        # It may have failed in the commit at its end.
        job.close()
        raise AssertionError(f"{why}, but the job goes on: it has to fail, also after a restart")

    try:
        _run(job, go_on)
    except JobExecutionError:
        return


def _compare(
    found: Collection[Any], expected: Collection[Any], where: str, repeats: bool = False
) -> None:
    missing, left = _difference(found, expected)
    if repeats:
        left = [record for record in left if record not in expected]
    assert not missing, f"{where}: {len(missing)} records are missing, such as {missing[0]!r}"
    assert not left, f"{where}: {len(left)} records are too many, such as {left[0]!r}"


def _difference(found: Collection[Any], expected: Collection[Any]) -> tuple[list[Any], list[Any]]:
    """What is missing and what is too many, as bags; records need not be hashable."""
    left = list(found)
    missing = []
    for record in expected:
        if record in left:
            left.remove(record)
        else:
            missing.append(record)
    return missing, left


# A sink that is exactly once by construction, for what sources give.


@dataclass(frozen=True)
class _CommittedRecords(Sink):
    """Keeps the records of completed checkpoints in this process."""

    number: int

    @staticmethod
    def new() -> _CommittedRecords:
        made = _CommittedRecords(next(_numbers))
        _committed[made.number] = {}
        return made

    @property
    def records(self) -> list[Any]:
        return [record for batch in _committed[self.number].values() for record in batch]

    def forget(self) -> None:
        del _committed[self.number]

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _BatchWriter(context)

    def create_committer(self, context: WriterContext) -> Committer:
        return _BatchCommitter(self.number)


_numbers = count()
_committed: dict[int, dict[tuple[int, int, int], list[Any]]] = {}


class _BatchWriter(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._name = (context.attempt, context.subtask)
        self._records: list[Any] = []

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._records += values

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        batch, self._records = self._records, []
        return [((*self._name, checkpoint), batch)]


class _BatchCommitter(Committer):
    def __init__(self, number: int) -> None:
        self._number = number

    def commit(self, committables: list[Any]) -> None:
        _committed[self._number].update(committables)
