"""The environment: where a program starts, and what runs it."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common import options
from headrace.common.completable_future import CompletableFuture
from headrace.common.configuration import Configuration
from headrace.common.display.errors import install_hook
from headrace.common.display.html import html_facts
from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError, HeadraceError
from headrace.common.execution_config import ExecutionConfig
from headrace.common.java.jars import accept_jars
from headrace.common.job_client import JobClient, JobHandle
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_listener import JobListener
from headrace.common.option_loading import load_configuration
from headrace.common.settings.checks import check
from headrace.common.time import to_millis
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import unexecuted
from headrace.datastream.caches import CachesOfJob, computed_from, sources_above
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.connectors.base import Source
from headrace.datastream.connectors.collection import (
    CollectionSource,
    NumberSequenceSource,
    convert_collection,
)
from headrace.datastream.data_stream import CloseableIterator, DataStream
from headrace.datastream.earlier_methods import EarlierMethods, deprecated
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.functions import SourceFunction
from headrace.datastream.operator_settings import (
    check_max_parallelism,
    check_parallelism,
    transformation_of,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.datastream.stream_base import StreamBase
from headrace.graph import specs
from headrace.graph.job_graph import JobGraph, build_job_graph
from headrace.graph.picture import svg_of
from headrace.graph.plan import plan_json, plan_text
from headrace.graph.shipping import check_shippable
from headrace.graph.stream_graph import GraphSettings, StreamGraph, build_stream_graph
from headrace.graph.transformation import (
    OperatorTransformation,
    Transformation,
    id_counter,
)

if TYPE_CHECKING:
    from headrace.coordination.job.options import EpochSummary

__all__ = ["StreamExecutionEnvironment"]

_DEFAULT_JOB_NAME = "Flink Streaming Job"
_numbers = itertools.count()


class StreamExecutionEnvironment(EarlierMethods):
    """Builds programs and runs them.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1, 2, 3]).map(lambda x: x * 2).print()
        >>> env.execute("double")
    """

    command_line: ClassVar[dict[str, Any]] = {}
    """Settings of `headrace run -D key=value`; they count less than those of the program."""

    defaults: ClassVar[dict[str, Any]] = {}
    """Settings that count less than all others, for programs that expect other defaults."""

    listeners_of_all: ClassVar[list[JobListener]] = []
    """Listeners of every environment of this process, for tools that run others' programs."""

    instead_of_running: ClassVar[Callable[[StreamGraph], Any] | None] = None
    """If set, given each program that would be run; it raises to stop it. For `headrace info`."""

    _local_parallelism: ClassVar[int | None] = None

    def __init__(self, configuration: Configuration | None = None) -> None:
        install_hook()
        self._configuration = load_configuration(
            configuration, self.command_line, defaults=self.defaults
        )
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._transformations: list[OperatorTransformation] = []
        self._caches: list[tuple[Future[JobExecutionResult], CachesOfJob]] = []
        self._side_outputs: dict[tuple[int, str], TypeInformation] = {}
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self.cached_files: dict[str, str] = {}
        self._register_configured_files()
        self.collectors: dict[str, Any] = {}
        self._job_listeners: list[JobListener] = []
        self.ids = id_counter()
        self._number = next(_numbers)
        self._of_tables: JobHandle | None = None

    def __reduce__(self) -> Any:
        raise FunctionTypeError(
            "the environment is used inside a function, but functions run on the workers, where "
            "it does not exist: read what the function needs into a variable first"
        )

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Returns a new environment.

        Its settings come from a file, environment variables, the command line and `configuration`.
        """
        if configuration is not None and not isinstance(configuration, Configuration):
            raise FunctionTypeError(
                f"get_execution_environment takes a Configuration, not {configuration!r}"
            )
        return StreamExecutionEnvironment(configuration)

    # Settings.

    def get_config(self) -> ExecutionConfig:
        """Returns settings of the job as a whole."""
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Returns the settings of checkpoints."""
        return self._checkpoint_config

    def get_configuration(self) -> Configuration:
        """Returns all settings."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Adds settings, which override earlier ones."""
        if not isinstance(configuration, Configuration):
            raise FunctionTypeError(f"configure takes a Configuration, not {configuration!r}")
        self._configuration.add_all(configuration)
        check(self._configuration)

    def get_parallelism(self) -> int:
        """Returns the parallelism of operators that do not set their own."""
        configured = self._config.get_parallelism()
        return configured if configured > 0 else self._default_parallelism()

    def _default_parallelism(self) -> int:
        if self._local_parallelism is not None:
            return self._local_parallelism
        master = self._configuration.get(options.SPARK_MASTER)
        inside = master.removeprefix("local[").split(",")[0].rstrip("]")
        return int(inside) if master.startswith("local[") and inside.isdigit() else cores()

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Sets the parallelism of operators that do not set their own."""
        value = check_parallelism(parallelism)
        self._config.set_parallelism(
            ExecutionConfig.PARALLELISM_DEFAULT if value is None else value
        )
        return self

    def get_max_parallelism(self) -> int:
        """Returns the max parallelism of operators that do not set their own; -1 if unset."""
        return self._config.get_max_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Sets the max parallelism of operators that do not set their own: their key groups."""
        self._config.set_max_parallelism(check_max_parallelism(max_parallelism))
        return self

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Sets streaming, batch (rolling aggregates emit final values only), or automatic mode."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise FunctionTypeError(
                f"set_runtime_mode takes a RuntimeExecutionMode, not {execution_mode!r}"
            )
        self._configuration.set(options.RUNTIME_MODE, execution_mode.name)
        return self

    def is_batch(self) -> bool:
        """Returns whether the program runs in batch mode."""
        mode = self._configuration.get(options.RUNTIME_MODE)
        if mode == RuntimeExecutionMode.AUTOMATIC.name:
            return all(source.bounded for source in sources_above(*self._transformations))
        return bool(mode == RuntimeExecutionMode.BATCH.name)

    def get_buffer_timeout(self) -> int:
        """Milliseconds; see `set_buffer_timeout`."""
        if not self._configuration.get(options.BUFFER_TIMEOUT_ENABLED):
            return -1
        return to_millis(self._configuration.get(options.BUFFER_TIMEOUT))

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Accepted as in Flink; an epoch hands on everything at its end."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise GraphError(
                f"Timeout of buffer must be non-negative or -1, not {timeout_millis!r}"
            )
        self._configuration.set_integer(options.BUFFER_TIMEOUT.key, timeout_millis)
        return self

    def get_default_local_parallelism(self) -> int:
        """The parallelism of environments that set none: at first, the number of cores."""
        return self._default_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism of all environments of this process that set none."""
        StreamExecutionEnvironment._local_parallelism = check_parallelism(parallelism)

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Gives every operator a task of its own."""
        self._configuration.set(options.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Returns whether operators may share tasks."""
        return bool(self._configuration.get(options.OPERATOR_CHAINING))

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """As in Flink: they may share a task."""
        return True

    def register_slot_sharing_group(
        self, slot_sharing_group: SlotSharingGroup
    ) -> StreamExecutionEnvironment:
        """Make the resources of a group known; Spark's own settings say what executors have."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise FunctionTypeError(f"a SlotSharingGroup is needed, not {slot_sharing_group!r}")
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    # Listeners.

    def register_job_listener(self, job_listener: JobListener) -> None:
        """Have a listener told about jobs of this environment that are started from now on."""
        if not isinstance(job_listener, JobListener):
            raise FunctionTypeError(f"a JobListener is needed, not {job_listener!r}")
        self._job_listeners.append(job_listener)

    def get_job_listeners(self) -> list[JobListener]:
        """The listeners of this environment."""
        return list(self._job_listeners)

    def clear_job_listeners(self) -> None:
        """Forget all listeners of this environment."""
        self._job_listeners.clear()

    # Checkpoints.

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None
    ) -> StreamExecutionEnvironment:
        """Takes a checkpoint every `interval` milliseconds."""
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Returns the milliseconds between checkpoints; -1 if they are off."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Returns exactly once or at least once."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The same as `get_checkpointing_mode`."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether checkpoints of a live job overtake records that wait."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints are forced; accepted, without effect."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted as in Flink: a checkpoint writes what changed in any case."""
        self._configuration.set_boolean("state.changelog.enabled", enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What `enable_changelog_state_backend` was given; None if it was not called."""
        if not self._configuration.contains_key("state.changelog.enabled"):
            return None
        return self._configuration.get_boolean("state.changelog.enabled", False)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """The directory of savepoints where none is given."""
        self._configuration.set(options.SAVEPOINT_DIR, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """The directory of savepoints where none is given."""
        directory: str | None = self._configuration.get(options.SAVEPOINT_DIR)
        return directory

    # The workers' Python.

    def add_python_file(self, file_path: str) -> None:
        """Adds a module, package directory or archive of Python code to the workers' path.

        It comes before what was added earlier.
        """
        self._add_path(options.PYTHON_FILES, file_path, first=True)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Installs a requirements file for the workers, from a directory of packages if given."""
        value = requirements_file_path
        if requirements_cache_dir is not None:
            value += f"#{requirements_cache_dir}"
        self._configuration.set(options.PYTHON_REQUIREMENTS, value)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpacks an archive in the workers' working directory.

        It is found there under `target_dir`, or under the archive's name.
        """
        self._add_path(
            options.PYTHON_ARCHIVES,
            archive_path if target_dir is None else f"{archive_path}#{target_dir}",
        )

    def set_python_executable(self, python_exec: str) -> None:
        """Accepted as in PyFlink; `PYSPARK_PYTHON` says which Python the slots use."""
        self._configuration.set(options.PYTHON_EXECUTABLE, python_exec)

    def _add_path(self, option: Any, value: str, first: bool = False) -> None:
        if not isinstance(value, str):
            raise FunctionTypeError(f"a path must be a str, not {value!r}")
        known = self._configuration.get(option)
        self._configuration.set(option, [value, *known] if first else [*known, value])

    def add_jars(self, *jars_path: str) -> None:
        """Accepts jars, of which headrace loads none: it has connectors in Python."""
        accept_jars(jars_path)
        for path in jars_path:
            self._add_path(options.JARS, path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Accepts jars, of which headrace loads none: it has connectors in Python."""
        accept_jars(classpaths)
        for path in classpaths:
            self._add_path(options.CLASSPATHS, path)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Makes a file available to functions.

        They find it with `runtime_context.get_distributed_cache().get_file(name)`.
        """
        if not Path(file_path).exists():
            raise GraphError(f"register_cached_file: there is no file {file_path!r}")
        self.cached_files[name] = os.path.abspath(file_path)

    def _register_configured_files(self) -> None:
        for file in self._configuration.get(options.CACHED_FILES):
            if not {"name", "path"} <= file.keys():
                raise ConfigurationError(
                    f"each file in {options.CACHED_FILES.key} needs a name and a path, as in "
                    f"name:cities,path:/data/cities.csv, not {file}"
                )
            self.register_cached_file(file["path"].removeprefix("file://"), file["name"])

    # Sources.

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Returns a stream of the elements of a collection, read by one subtask.

        Args:
            collection: Any iterable; it is read now.
            type_info: Type of the elements; they are converted to it now, any Python objects
                without it.
        """
        if collection is None or not isinstance(collection, Iterable):
            raise FunctionTypeError(f"from_collection takes a collection, not {collection!r}")
        values = list(collection)
        if isinstance(type_info, list):
            type_info = Types.ROW(type_info)
        if type_info is not None:
            values = convert_collection(values, type_info)
        return self._source(CollectionSource.of(values), None, "Collection Source", type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Returns a stream of a source's records, with timestamps and watermarks by a strategy."""
        if not isinstance(source, Source):
            raise FunctionTypeError(f"from_source takes a Source, not {source!r}")
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise FunctionTypeError(
                "from_source takes a WatermarkStrategy, such as WatermarkStrategy.no_watermarks(), "
                f"not {watermark_strategy!r}"
            )
        if type_info is None:
            type_info = source.produced_type
        source = source.for_configuration(self._configuration)
        return self._source(source, watermark_strategy, source_name, type_info)

    def from_data_frame(
        self,
        data_frame: Any,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str = "DataFrame Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Returns a stream of the rows of a Spark DataFrame, which Spark's tasks read.

        See `headrace.datastream.connectors.spark_source.SparkSource`, also for other records than
        rows, and for files.
        """
        # Late, as all sources here: a program loads only the connectors that it uses.
        from headrace.datastream.connectors.spark_source import SparkSource

        strategy = watermark_strategy or WatermarkStrategy.no_watermarks()
        return self.from_source(SparkSource.of(data_frame), strategy, source_name, type_info)

    def get_spark_session(self) -> Any:
        """Returns the Spark session that jobs of this environment run in; starts it if needed."""
        from headrace.spark.live.choice import session_settings
        from headrace.spark.session import get_or_create_session

        return get_or_create_session(session_settings(self._configuration))

    def add_source(
        self,
        source_func: SourceFunction[Any],
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Returns a stream of the records that a `SourceFunction` emits."""
        if isinstance(source_func, Source):
            return self.from_source(
                source_func, WatermarkStrategy.no_watermarks(), source_name, type_info
            )
        if not isinstance(source_func, SourceFunction):
            raise FunctionTypeError(f"add_source takes a SourceFunction, not {source_func!r}")
        # Late: see from_data_frame.
        from headrace.datastream.connectors.function_source import FunctionSource

        check_shippable(source_func, "add_source")
        return self._source(FunctionSource(source_func), None, source_name, type_info)

    def create_input(
        self, input_format: Any, type_info: TypeInformation | None = None
    ) -> DataStream[Any]:
        """A stream of the records of an input format that knows its path: `AvroInputFormat`.

        Other input formats are Java's; use `from_source` with a `FileSource`.
        """
        # Late: see from_data_frame.
        from headrace.datastream.connectors.file_system import BulkFormat, FileSource

        path = getattr(input_format, "path", None)
        if not isinstance(input_format, BulkFormat) or not path:
            raise HeadraceError(
                "create_input takes AvroInputFormat(path, schema); use from_source() with a "
                f"FileSource for other formats, not {input_format!r}"
            )
        source = FileSource.for_bulk_file_format(input_format, path).build()
        return self.from_source(
            source, WatermarkStrategy.no_watermarks(), "Input Format Source", type_info
        )

    def generate_sequence(self, from_number: int, to_number: int) -> DataStream[int]:
        """Returns a stream of the numbers from one to another, both included."""
        source = NumberSequenceSource(from_number, to_number)
        return self.from_source(source, WatermarkStrategy.no_watermarks(), "Sequence Source")

    def from_sequence(self, from_number: int, to_number: int) -> DataStream[int]:
        """The same as `generate_sequence`."""
        return self.generate_sequence(from_number, to_number)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """Returns a stream of the lines of a text file, or of all files in a directory."""
        # Late: see from_data_frame.
        from headrace.datastream.connectors.file_system import FileSource, StreamFormat

        source = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(charset_name), file_path
        ).build()
        return self.from_source(
            source, WatermarkStrategy.no_watermarks(), "Text File Source", Types.STRING()
        )

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream[str]:
        """Returns a stream of lines from a socket, which cannot be read again after a failure."""
        # Late: see from_data_frame.
        from headrace.datastream.connectors.socket_source import SocketTextSource

        source = SocketTextSource(hostname, port, delimiter, max_retry)
        return self.from_source(
            source, WatermarkStrategy.no_watermarks(), "Socket Stream", Types.STRING()
        )

    def _source(
        self,
        source: Source,
        strategy: WatermarkStrategy | None,
        name: str,
        type_info: TypeInformation | None,
    ) -> DataStream[Any]:
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise FunctionTypeError(f"type_info must be a TypeInformation, not {type_info!r}")
        check_shippable((source, strategy), name)
        spec = specs.SourceSpec(source, strategy, self._config.get_auto_watermark_interval())
        transformation = OperatorTransformation(
            self.ids, name, [], type_info or Types.PICKLED_BYTE_ARRAY(), spec
        )
        if source.max_parallel_readers == 1:
            # It keeps its key groups, unlike force_non_parallel(): they are those of all that is
            # chained to it.
            transformation.parallelism = 1
            transformation.force_non_parallel = True
        self.register(transformation)
        return DataStream(self, transformation)

    # What streams tell the environment.

    def register(self, transformation: OperatorTransformation) -> None:
        """Remember an operator; it is executed whether a sink follows or not."""
        self._transformations.append(transformation)
        unexecuted.built(self._number)

    def check_side_output(self, transformation: Transformation, tag: OutputTag) -> None:
        """A tag has one type."""
        known = self._side_outputs.setdefault((transformation.id, tag.tag_id), tag.type_info)
        if known != tag.type_info:
            raise GraphError(
                f"A side output with a matching id {tag.tag_id!r} was already requested with a "
                "different type. This is not allowed, side output ids need to be unique."
            )

    def check_uid(self, transformation: Transformation, uid: str) -> None:
        """A uid belongs to one operator of a program."""
        for other in self._transformations:
            if other.uid == uid and other is not transformation:
                raise GraphError(
                    f"uid {uid!r} is used by {other.name!r} and by {transformation.name!r}: every "
                    "operator needs its own uid"
                )

    def new_collect_id(self) -> str:
        """A name for a stream of records to this program."""
        from headrace.coordination.job.outputs import Collector

        collect_id = uuid.uuid4().hex
        self.collectors[collect_id] = Collector()
        return collect_id

    # Graphs.

    def get_stream_graph(self, job_name: str | None = None, clear: bool = False) -> StreamGraph:
        """Returns the program so far as nodes and edges."""
        unexecuted.looked_at(self._number)
        # As in Flink, a source that nothing reads is not part of the program.
        read = {t.id for t in computed_from(t for t in self._transformations if t.inputs)}
        program = [t for t in self._transformations if t.id in read]
        graph = self._graph_of(program, job_name)
        if clear:
            self._transformations = []
        return graph

    def discard(self) -> None:
        """Discards the program so far."""
        unexecuted.looked_at(self._number)
        self._transformations = []

    def _graph_of(
        self, transformations: Sequence[Transformation], job_name: str | None = None
    ) -> StreamGraph:
        name = job_name or self._configuration.get(options.PIPELINE_NAME) or _DEFAULT_JOB_NAME
        max_parallelism = self._config.get_max_parallelism()
        settings = GraphSettings(
            name,
            self.get_parallelism(),
            max_parallelism if max_parallelism > 0 else None,
            self.is_chaining_enabled(),
            self._config.has_auto_generated_uids_enabled(),
            self.is_batch(),
            self._config.is_object_reuse_enabled(),
        )
        return build_stream_graph(transformations, settings)

    def get_job_graph(self, job_name: str | None = None) -> JobGraph:
        """Returns the program so far with its operators chained."""
        return build_job_graph(self.get_stream_graph(job_name))

    def get_execution_plan(self) -> str:
        """Returns the program as JSON, in Flink's form."""
        return plan_json(self.get_stream_graph())

    def plan_of(self, build: Callable[[], object]) -> str:
        """The JSON of what `build` adds to the program; nothing of it stays there."""
        before, self._transformations = self._transformations, []
        try:
            build()
            return plan_json(self._graph_of(self._transformations))
        finally:
            self._transformations = before

    def explain(self) -> str:
        """Returns the program as text: levels, vertices, partitioning."""
        return plan_text(self.get_stream_graph())

    def picture(self, *streams: StreamBase[Any]) -> str:
        """The program so far as SVG, or only what some streams are computed from."""
        wanted = computed_from(transformation_of(s) for s in streams) or self._transformations
        return svg_of(build_job_graph(self._graph_of(wanted)))

    def _repr_html_(self) -> str:
        facts = {
            "parallelism": self.get_parallelism(),
            "mode": self._configuration.get(options.RUNTIME_MODE),
            "checkpoints": f"every {self.get_checkpoint_interval()} ms"
            if self.get_checkpoint_interval() > 0
            else "none",
        }
        picture = self.picture() if self._transformations else ""
        return html_facts("stream execution environment", facts) + picture

    # Execution.

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the program and waits until it ends."""
        if not self._transformations and self._of_tables is not None:
            # In Flink 1.x an INSERT only ran with this.
            deprecated("execute() after an INSERT", "wait() for the INSERT's result")
            return self._wait_for(self._of_tables)
        return self._wait_for(self._submit_streams(job_name))

    def execute_async(self, job_name: str = _DEFAULT_JOB_NAME) -> JobClient:
        """Starts the program and returns at once."""
        return JobClient(self._submit_streams(job_name))

    def execute_collecting(self, collect_id: str, job_name: str | None) -> CloseableIterator[Any]:
        """Start the program and give the records that one of its streams collects."""
        collector = self.collectors[collect_id]
        master = self._submit_streams(job_name)

        def close() -> None:
            collector.abandon()
            if not master.status().is_terminal_state():
                CompletableFuture(master.cancel()).result()

        return CloseableIterator(iter(collector), close)

    def _submit_streams(self, job_name: str | None) -> JobHandle:
        master = self.submit(job_name)
        self._of_tables = None
        return master

    def submit(
        self, job_name: str | None, on_epoch: Callable[[EpochSummary], None] | None = None
    ) -> JobHandle:
        """Start the program as a job; for whoever builds upon it here, not for programs."""
        if job_name is not None and not isinstance(job_name, str):
            raise FunctionTypeError(f"a job name must be a str, not {job_name!r}")
        check(self._configuration)
        for option in (options.JARS, options.CLASSPATHS):
            accept_jars(self._configuration.get(option))
        self._settle_caches()
        caches = CachesOfJob(self._transformations)
        self._transformations += caches.sinks(self.ids)
        graph = self.get_stream_graph(job_name, clear=True)
        if StreamExecutionEnvironment.instead_of_running is not None:
            StreamExecutionEnvironment.instead_of_running(graph)
        # Executors are looked up late: building a program needs neither Java nor Spark.
        from headrace.coordination.job.listeners import JobListeners
        from headrace.spark.executor import submit

        collectors, self.collectors = self.collectors, {}
        job_graph = build_job_graph(graph)
        listeners = JobListeners([*self.listeners_of_all, *self._job_listeners], on_epoch)
        try:
            master = submit(
                job_graph,
                self._configuration,
                collectors=collectors,
                cached_files=dict(self.cached_files),
                on_epoch=listeners.epoch,
            )
        except BaseException as error:
            listeners.not_submitted(error)
            raise
        listeners.submitted(master)
        self._of_tables = master
        self._caches.append((master.result_future(), caches))
        return master

    @staticmethod
    def running_job(job_id: str) -> JobClient | None:
        """A job that another process of this user runs; for whoever builds upon it here."""
        from headrace.coordination.access.other_job import OtherJob

        found = OtherJob.find(job_id)
        return None if found is None else JobClient(found)

    def _settle_caches(self) -> None:
        """Let streams whose records earlier jobs have kept be read from there."""
        ended = [entry for entry in self._caches if entry[0].done()]
        self._caches = [entry for entry in self._caches if not entry[0].done()]
        for result, caches in ended:
            if result.exception() is None:
                caches.job_succeeded(self.ids)

    @staticmethod
    def _wait_for(master: JobHandle) -> JobExecutionResult:
        try:
            return master.result_future().result()
        except KeyboardInterrupt:
            master.cancel().result()
            raise

    def close(self) -> None:
        """Ends the use of this environment; the Spark session stays for others of this process."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
