"""The one declared list of configuration options.

Each option is declared once, with key (Flink's where Flink has it), type, default and description.
Those of SQL are in `headrace.common.settings.table_options`. `headrace.common.option_loading` finds
the values; in `headrace.common.settings`, `checks` looks them over and `reference` describes them.
"""

from __future__ import annotations

from headrace.common.configuration import Configuration
from headrace.common.settings.registry import DEPRECATED, OPTIONS, PREFIXES, Option, declare, find
from headrace.common.settings.types import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    LONG,
    MAP,
    MAPS,
    MEMORY,
    STRING,
    OptionType,
    choice,
    ranged,
)

__all__ = [
    "DEPRECATED",
    "OPTIONS",
    "PREFIXES",
    "Option",
    "environment_variable",
    "find",
    "spark_properties",
    "table_options",
]

POSITIVE: OptionType[int] = ranged(INT, 1)
PORT: OptionType[int] = ranged(INT, 0, 65535)

# -- Parallelism and pipeline

PARALLELISM_DEFAULT = declare(
    "parallelism.default", POSITIVE, None,
    "Parallelism of operators that do not set their own. Default: the number of cores of a local "
    "master, or else Spark's default parallelism.",
)  # fmt: skip
MAX_PARALLELISM = declare(
    "pipeline.max-parallelism", ranged(INT, 1, 32768), None,
    "Upper limit of parallelism, and the number of key groups. 128 unless set; it cannot change "
    "for restored state.",
)  # fmt: skip
PIPELINE_NAME = declare("pipeline.name", STRING, None, "Name of the job.")
AUTO_WATERMARK_INTERVAL = declare(
    "pipeline.auto-watermark-interval", DURATION, "200 ms",
    "How often watermark generators are asked for a watermark while records flow; 0 turns "
    "periodic watermarks off.",
)  # fmt: skip
OBJECT_REUSE = declare(
    "pipeline.object-reuse", BOOLEAN, False,
    "Accepted for compatibility with Flink: chained functions always get the same Python objects.",
)  # fmt: skip
OPERATOR_CHAINING = declare(
    "pipeline.operator-chaining.enabled", BOOLEAN, True,
    "Run operators that are connected one to one in a single vertex.",
    "pipeline.operator-chaining",
)  # fmt: skip
GENERIC_TYPES = declare(
    "pipeline.generic-types", BOOLEAN, True,
    "Allow streams without a declared type, which carry any Python object.",
)  # fmt: skip
AUTO_GENERATE_UIDS = declare(
    "pipeline.auto-generate-uids", BOOLEAN, True,
    "Give operators without a uid an id derived from the shape of the program. If false, such an "
    "operator is an error.",
)  # fmt: skip
GLOBAL_JOB_PARAMETERS = declare(
    "pipeline.global-job-parameters", MAP, {},
    "User parameters, which functions find in their runtime context.",
)  # fmt: skip
CACHED_FILES = declare(
    "pipeline.cached-files", MAPS, [],
    "Files for all workers, each as `name:NAME,path:PATH`, with `;` between two; see "
    "`register_cached_file`.",
)  # fmt: skip
CLOSURE_CLEANER_LEVEL = declare(
    "pipeline.closure-cleaner-level", choice("NONE", "TOP_LEVEL", "RECURSIVE"), "RECURSIVE",
    "Accepted for compatibility with Flink; Python functions need no cleaning.",
)  # fmt: skip
FORCE_AVRO = declare(
    "pipeline.force-avro", BOOLEAN, False, "Accepted for compatibility with Flink."
)
FORCE_KRYO = declare(
    "pipeline.force-kryo", BOOLEAN, False, "Accepted for compatibility with Flink."
)

# -- Execution

RUNTIME_MODE = declare(
    "execution.runtime-mode", choice("STREAMING", "BATCH", "AUTOMATIC"), "STREAMING",
    "STREAMING emits every step; BATCH emits final results and needs bounded sources; AUTOMATIC "
    "is BATCH if all sources are bounded.",
)  # fmt: skip
BUFFER_TIMEOUT = declare(
    "execution.buffer-timeout.interval", DURATION, "100 ms",
    "Accepted for compatibility with Flink: an epoch passes everything on when it ends.",
    "execution.buffer-timeout",
)  # fmt: skip
BUFFER_TIMEOUT_ENABLED = declare(
    "execution.buffer-timeout.enabled", BOOLEAN, True,
    "Accepted for compatibility with Flink; if false, `get_buffer_timeout` is -1.",
)  # fmt: skip
EPOCH_TARGET = declare(
    "execution.epoch.target", DURATION, "1 s",
    "How long an epoch should take. Source budgets follow the measured rate to meet it.",
)  # fmt: skip
EPOCH_MAX_RECORDS = declare(
    "execution.epoch.max-records", ranged(LONG, 1), None,
    "Maximum number of records that a source subtask reads in one epoch; unlimited unless set.",
)  # fmt: skip
CARRIER = declare(
    "execution.carrier", choice("auto", "live", "epochs"), "auto",
    "How records travel between slots: `epochs` is a Spark job for each epoch; `live` is one long "
    "Spark job, in which an epoch takes milliseconds; `auto` is live for unbounded jobs where "
    "Spark offers it, and a line of the log says why where it does not.",
)  # fmt: skip
LIVE_LINGER = declare(
    "execution.live.linger", DURATION, "2 ms",
    "The least time from the start of an epoch of a live job to the start of the next; up to "
    "twelve times that where records are few. More takes less of the processors, and adds to the "
    "latency.",
)  # fmt: skip
LIVE_IDLE_TIMEOUT = declare(
    "execution.live.idle-timeout", DURATION, "1 min",
    "How long the Spark job of a live job goes on when there is nothing to do. It comes back with "
    "the first record or timer.",
)  # fmt: skip
LIVE_BUFFER_MEMORY = declare(
    "execution.live.buffer-memory", MEMORY, "64mb",
    "How much memory of a slot frames may take that wait to be sent or to be processed. What does "
    "not fit is in a temporary file until its turn comes.",
)  # fmt: skip
IDLE_SPARK = declare(
    "execution.idle-spark.timeout", DURATION, None,
    "How long a Spark waits, idle, for the next run of the same user when this one has ended; 0 "
    "for none. Unless set: 5 minutes in notebooks and at the prompt of the SQL client, none in "
    "programs. A Spark that `headrace up` has started is used in any case.",
)  # fmt: skip
SNAPSHOT_COMPRESSION = declare(
    "execution.checkpointing.snapshot-compression", BOOLEAN, False,
    "Compress state in checkpoints and savepoints.",
)  # fmt: skip

# -- Checkpoints and savepoints

CHECKPOINTING_INTERVAL = declare(
    "execution.checkpointing.interval", DURATION, None,
    "How often a checkpoint is taken. Without it there are no checkpoints.",
)  # fmt: skip
CHECKPOINTING_MODE = declare(
    "execution.checkpointing.mode", choice("EXACTLY_ONCE", "AT_LEAST_ONCE"), "EXACTLY_ONCE",
    "The guarantee. An epoch boundary is an aligned barrier, so exactly-once costs nothing extra.",
)  # fmt: skip
CHECKPOINTING_TIMEOUT = declare(
    "execution.checkpointing.timeout", DURATION, "10 min",
    "A checkpoint that takes longer is abandoned and counts as failed.",
)  # fmt: skip
CHECKPOINTING_MIN_PAUSE = declare(
    "execution.checkpointing.min-pause", DURATION, "0 ms",
    "Minimum time between the end of one checkpoint and the start of the next.",
)  # fmt: skip
CHECKPOINTING_MAX_CONCURRENT = declare(
    "execution.checkpointing.max-concurrent-checkpoints", POSITIVE, 1,
    "How many checkpoints may be in progress at once; only one if there is a minimum pause.",
)  # fmt: skip
CHECKPOINTING_TOLERABLE_FAILURES = declare(
    "execution.checkpointing.tolerable-failed-checkpoints", ranged(INT, 0), 0,
    "How many checkpoints in a row may fail before the job fails.",
)  # fmt: skip
EXTERNALIZED_CHECKPOINT_RETENTION = declare(
    "execution.checkpointing.externalized-checkpoint-retention",
    choice("NO_EXTERNALIZED_CHECKPOINTS", "RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What happens to the last checkpoints when the job is cancelled.",
)  # fmt: skip
CHECKPOINTING_INCREMENTAL = declare(
    "execution.checkpointing.incremental", BOOLEAN, False,
    "Write only what changed since the last checkpoint.",
    "state.backend.incremental",
)  # fmt: skip
CHECKPOINTING_MAX_INCREMENTS = declare(
    "execution.checkpointing.incremental.max-increments", ranged(INT, 0), 100,
    "After this many incremental checkpoints a full one is written; sooner if together they are "
    "larger than the last full one.",
)  # fmt: skip
CHECKPOINTING_STORAGE = declare(
    "execution.checkpointing.storage", choice("jobmanager", "filesystem"), None,
    "Where checkpoints are kept. `filesystem` if `execution.checkpointing.dir` is set, otherwise "
    "`jobmanager`, which lasts as long as the job.",
    "state.checkpoint-storage",
)  # fmt: skip
CHECKPOINTING_DIR = declare(
    "execution.checkpointing.dir", STRING, None,
    "Directory of checkpoints, on any file system that fsspec reaches.",
    "state.checkpoints.dir state.backend.fs.checkpointdir",
)  # fmt: skip
SAVEPOINT_DIR = declare(
    "execution.checkpointing.savepoint-dir", STRING, None,
    "Default directory for savepoints.",
    "state.savepoints.dir savepoints.state.backend.fs.dir",
)  # fmt: skip
S3_ENDPOINT = declare(
    "s3.endpoint", STRING, None,
    "URL of an S3-compatible server for `s3://` paths. Amazon's unless set; S3 settings that are "
    "not set come from the environment and files that AWS tools read.",
)  # fmt: skip
S3_REGION = declare("s3.endpoint.region", STRING, None, "Region of the S3 server.")
S3_ACCESS_KEY = declare("s3.access-key", STRING, None, "Access key for `s3://` paths.")
S3_SECRET_KEY = declare("s3.secret-key", STRING, None, "Secret key for `s3://` paths.")
COMMIT_MARKER = declare(
    "execution.commit-marker", STRING, None,
    "A file that says up to which checkpoint all sinks have committed, for readers that combine "
    "the outputs of several sinks.",
)  # fmt: skip
CHECKPOINTS_NUM_RETAINED = declare(
    "execution.checkpointing.num-retained",
    POSITIVE,
    1,
    "How many completed checkpoints are kept.",
    "state.checkpoints.num-retained",
)
UNALIGNED_ENABLED = declare(
    "execution.checkpointing.unaligned.enabled", BOOLEAN, False,
    "Whether checkpoints of a live job overtake records that wait: what a subtask has received and "
    "not processed becomes part of the checkpoint. Needs the mode EXACTLY_ONCE.",
    "execution.checkpointing.unaligned",
)  # fmt: skip
UNALIGNED_FORCED = declare(
    "execution.checkpointing.unaligned.forced", BOOLEAN, False,
    "Accepted: there are no jobs with unaligned checkpoints that would have to be forced.",
)  # fmt: skip
ALIGNED_CHECKPOINT_TIMEOUT = declare(
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION,
    "0 ms",
    "How long an unaligned checkpoint waits for all records before it, as an aligned one does, "
    "before it overtakes those that are left.",
    "execution.checkpointing.alignment-timeout",
)
LOCAL_RECOVERY = declare(
    "execution.state-recovery.from-local", BOOLEAN, False,
    "Keep a copy of the state beside the slot, for a quicker restore on the same host.",
    "state.backend.local-recovery",
)  # fmt: skip
LOCAL_BACKUP_DIRS = declare(
    "execution.checkpointing.local-backup.dirs", STRING, None,
    "Where the copies for `execution.state-recovery.from-local` go; a temporary directory of the "
    "host unless set.",
    "taskmanager.state.local.root-dirs",
)  # fmt: skip
SAVEPOINT_PATH = declare(
    "execution.state-recovery.path",
    STRING,
    None,
    "Savepoint or checkpoint to start from, or the directory of a job's checkpoints, which means "
    "the newest one that can be read.",
    "execution.savepoint.path",
)
SAVEPOINT_IGNORE_UNCLAIMED = declare(
    "execution.state-recovery.ignore-unclaimed-state", BOOLEAN, False,
    "Start even if the savepoint holds state that no operator of the program claims.",
    "execution.savepoint.ignore-unclaimed-state",
)  # fmt: skip
RESTORE_MODE = declare(
    "execution.state-recovery.claim-mode", choice("NO_CLAIM", "CLAIM", "LEGACY"), "NO_CLAIM",
    "Who owns the savepoint after a restore. With CLAIM the job does, and may delete it.",
    "execution.savepoint-restore-mode",
)  # fmt: skip

# -- State

_STATE_BACKEND_FACTORIES = {
    "org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory": "rocksdb",
    "org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory": "hashmap",
    "org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory": "rocksdb",
}
STATE_BACKEND = declare(
    "state.backend.type",
    choice(
        "hashmap", "rocksdb", filesystem="hashmap", jobmanager="hashmap", **_STATE_BACKEND_FACTORIES
    ),
    "hashmap",
    "Where keyed state lives: Python objects in memory, or RocksDB on local disk.",
    "state.backend",
)  # fmt: skip
LATENCY_TRACK = declare(
    "state.latency-track.keyed-state-enabled", BOOLEAN, False,
    "Measure how long state accesses take.",
    "state.backend.latency-track.keyed-state-enabled",
)  # fmt: skip
LATENCY_TRACK_SAMPLE_INTERVAL = declare(
    "state.latency-track.sample-interval", POSITIVE, 100,
    "Measure one in this many accesses.",
    "state.backend.latency-track.sample-interval",
)  # fmt: skip
ROCKSDB_LOCALDIR = declare(
    "state.backend.rocksdb.localdir", STRING, None,
    "Local directory of RocksDB's files; a temporary one unless set.",
)  # fmt: skip
ROCKSDB_PREDEFINED_OPTIONS = declare(
    "state.backend.rocksdb.predefined-options",
    choice(
        "DEFAULT", "SPINNING_DISK_OPTIMIZED", "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
        "FLASH_SSD_OPTIMIZED",
    ),
    "DEFAULT", "A profile of RocksDB settings.",
)  # fmt: skip
ROCKSDB_WRITEBUFFER_SIZE = declare(
    "state.backend.rocksdb.writebuffer.size", MEMORY, "64mb", "Size of one write buffer."
)
ROCKSDB_WRITEBUFFER_COUNT = declare(
    "state.backend.rocksdb.writebuffer.count",
    POSITIVE,
    2,
    "Maximum number of write buffers in memory.",
)
ROCKSDB_BLOCK_CACHE_SIZE = declare(
    "state.backend.rocksdb.block.cache-size", MEMORY, "8mb", "Cache of data blocks."
)
ROCKSDB_BLOCK_SIZE = declare(
    "state.backend.rocksdb.block.blocksize", MEMORY, "4kb", "Size of a data block."
)
ROCKSDB_THREADS = declare(
    "state.backend.rocksdb.thread.num",
    POSITIVE,
    2,
    "Background threads for flushes and compactions.",
)
ROCKSDB_BLOOM_FILTER = declare(
    "state.backend.rocksdb.use-bloom-filter", BOOLEAN, False, "Give each file a Bloom filter."
)
ROCKSDB_CACHE_OBJECTS = declare(
    "state.backend.rocksdb.object-cache.size", POSITIVE, 100_000,
    "How many decoded values are kept in front of RocksDB, for each slot.",
)  # fmt: skip

# -- Heartbeats

HEARTBEAT_INTERVAL = declare(
    "heartbeat.interval", DURATION, "10 s", "How often slots are asked for a heartbeat."
)
HEARTBEAT_TIMEOUT = declare(
    "heartbeat.timeout", DURATION, "50 s",
    "A slot that is silent for longer counts as lost, and the job goes back to its last "
    "checkpoint. A killed slot is noticed at once.",
)  # fmt: skip

# -- Restart strategies

RESTART_STRATEGY_TYPE = declare(
    "restart-strategy.type",
    choice(
        "none", "fixed-delay", "failure-rate", "exponential-delay",
        off="none", disable="none", disabled="none", false="none",
        fixeddelay="fixed-delay", failurerate="failure-rate",
        exponentialdelay="exponential-delay",
    ),
    None,
    "What happens after a failure. Default: `exponential-delay` if checkpoints are enabled, "
    "otherwise `none`.",
    "restart-strategy",
)  # fmt: skip
FIXED_DELAY_ATTEMPTS = declare(
    "restart-strategy.fixed-delay.attempts", ranged(INT, 0), 1, "How often the job may restart."
)
FIXED_DELAY_DELAY = declare(
    "restart-strategy.fixed-delay.delay", DURATION, "1 s", "The pause before each restart."
)
FAILURE_RATE_MAX_FAILURES = declare(
    "restart-strategy.failure-rate.max-failures-per-interval", POSITIVE, 1,
    "Maximum number of failures in one interval.",
)  # fmt: skip
FAILURE_RATE_INTERVAL = declare(
    "restart-strategy.failure-rate.failure-rate-interval", DURATION, "1 min", "The interval."
)
FAILURE_RATE_DELAY = declare(
    "restart-strategy.failure-rate.delay", DURATION, "1 s", "The pause before each restart."
)
EXPONENTIAL_DELAY_INITIAL_BACKOFF = declare(
    "restart-strategy.exponential-delay.initial-backoff", DURATION, "1 s", "The first pause."
)
EXPONENTIAL_DELAY_MAX_BACKOFF = declare(
    "restart-strategy.exponential-delay.max-backoff", DURATION, "1 min", "The longest pause."
)
EXPONENTIAL_DELAY_MULTIPLIER = declare(
    "restart-strategy.exponential-delay.backoff-multiplier", ranged(DOUBLE, 1), 1.5,
    "The factor by which each pause is longer than the one before.",
)  # fmt: skip
EXPONENTIAL_DELAY_RESET_THRESHOLD = declare(
    "restart-strategy.exponential-delay.reset-backoff-threshold", DURATION, "1 h",
    "How long the job must run without a failure before the pauses start over.",
)  # fmt: skip
EXPONENTIAL_DELAY_JITTER = declare(
    "restart-strategy.exponential-delay.jitter-factor", ranged(DOUBLE, 0, 1), 0.1,
    "The share by which a pause is randomly made longer or shorter.",
)  # fmt: skip
EXPONENTIAL_DELAY_ATTEMPTS = declare(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff", POSITIVE, None,
    "Maximum number of restarts before the job has run without a failure for long enough; "
    "unlimited unless set.",
)  # fmt: skip

# -- Python

JARS = declare(
    "pipeline.jars", LIST, [],
    "Jars of a Flink program; those that bring something that headrace has itself are not loaded, "
    "others are refused.",
)  # fmt: skip
CLASSPATHS = declare("pipeline.classpaths", LIST, [], "The same as `pipeline.jars`, by URL.")
PYTHON_FILES = declare(
    "python.files", LIST, [], "Modules, packages and archives of Python code for all workers."
)
PYTHON_REQUIREMENTS = declare(
    "python.requirements", STRING, None,
    "A requirements file, and after `#` a directory of packages to install it from.",
)  # fmt: skip
PYTHON_ARCHIVES = declare(
    "python.archives", LIST, [],
    "Archives that every worker unpacks in its working directory, each as `path#directory`.",
)  # fmt: skip
PYTHON_EXECUTABLE = declare(
    "python.executable", STRING, None,
    "The interpreter of the slots and of Spark's workers, with the Python version of the program; "
    "defaults to `PYSPARK_PYTHON`, or else the program's own. The first job of a process decides.",
)  # fmt: skip
ARROW_BATCH_SIZE = declare(
    "python.fn-execution.arrow.batch.size", POSITIVE, 1000,
    "Maximum number of rows in a batch for a vectorized SQL function.",
)  # fmt: skip
BUNDLE_SIZE = declare(
    "python.fn-execution.bundle.size", POSITIVE, 100_000,
    "Number of rows after which groups with aggregate functions in Python emit their changes, if "
    "`table.exec.mini-batch.enabled` is `false`; they always do at the end of an epoch. A batch "
    "for a vectorized function has no more rows either.",
)  # fmt: skip
PYTHON_PRELOAD = declare(
    "python.preload", LIST, [],
    "Modules that every slot imports before anything of the program, for their side effects.",
)  # fmt: skip

# -- Spark

SPARK_MASTER = declare(
    "spark.master",
    STRING,
    "local[*]",
    "Master of the Spark session, if headrace creates the session.",
)

# -- REST and metrics

REST_ADDRESS = declare(
    "rest.address", STRING, "localhost", "Host at which clients find the REST server."
)
REST_PORT = declare(
    "rest.port",
    PORT,
    8081,
    "Port at which clients find the REST server.",
    "web.port jobmanager.web.port",
)
REST_BIND_ADDRESS = declare(
    "rest.bind-address",
    STRING,
    "localhost",
    "Address on which the REST server listens.",
    "jobmanager.web.address",
)
REST_BIND_PORT = declare(
    "rest.bind-port",
    STRING,
    None,
    "Port, or range of ports, on which the REST server listens; defaults to `rest.port`.",
)
ENV_LOG_MAX = declare(
    "env.log.max", POSITIVE, 10,
    "How many old files are kept of each log: of the JobManager, a job, a SQL gateway and Spark.",
)  # fmt: skip
ENV_LOG_MAX_SIZE = declare(
    "env.log.max-size", MEMORY, "16mb",
    "The size at which a log starts a new file.",
)  # fmt: skip
SSL_REST_CERTIFICATE = declare(
    "security.ssl.rest.certificate", STRING, None,
    "File with the certificate of the REST server and the SQL gateway, as PEM.",
)  # fmt: skip
SSL_REST_KEY = declare(
    "security.ssl.rest.key", STRING, None, "File with the private key of that certificate, as PEM."
)
SQL_GATEWAY_ADDRESS = declare(
    "sql-gateway.endpoint.rest.address", STRING, "localhost",
    "Host at which clients find the SQL gateway.",
)  # fmt: skip
SQL_GATEWAY_BIND_ADDRESS = declare(
    "sql-gateway.endpoint.rest.bind-address", STRING, None,
    "Address on which the SQL gateway listens; defaults to the one at which clients find it.",
)  # fmt: skip
SQL_GATEWAY_PORT = declare(
    "sql-gateway.endpoint.rest.port", PORT, 8083, "Port at which clients find the SQL gateway."
)
SQL_GATEWAY_BIND_PORT = declare(
    "sql-gateway.endpoint.rest.bind-port", STRING, None,
    "Port, or range of ports, on which the SQL gateway listens; defaults to the one at which "
    "clients find it.",
)  # fmt: skip
SQL_GATEWAY_IDLE_TIMEOUT = declare(
    "sql-gateway.session.idle-timeout", DURATION, "10 min",
    "A session that is idle for this long is closed; 0 for never.",
)  # fmt: skip
SQL_GATEWAY_CHECK_INTERVAL = declare(
    "sql-gateway.session.check-interval", DURATION, "1 min",
    "How often the SQL gateway looks for idle sessions; 0 for never.",
)  # fmt: skip
SQL_GATEWAY_MAX_SESSIONS = declare(
    "sql-gateway.session.max-num",
    POSITIVE,
    1_000_000,
    "How many sessions may be open at the same time.",
)
METRICS_ENABLED = declare(
    "metrics.enabled", BOOLEAN, True,
    "Whether slots report metrics and samples of keys with every epoch. Record counts, times and "
    "watermarks are always reported.",
)  # fmt: skip
METRICS_REPORTERS = declare(
    "metrics.reporters", LIST, [], "Names of the metrics reporters to start."
)
METRICS_LATENCY_INTERVAL = declare(
    "metrics.latency.interval", DURATION, "0 ms",
    "How often sources send latency markers; 0 for never.",
)  # fmt: skip
TASK_CANCELLATION_INTERVAL = declare(
    "task.cancellation.interval", DURATION, "30 s",
    "How often user code that does not return is interrupted when a job is cancelled or has "
    "failed. `close()` of functions is never interrupted.",
    "task.cancellation-interval",
)  # fmt: skip
TASK_CANCELLATION_TIMEOUT = declare(
    "task.cancellation.timeout", DURATION, "3 min",
    "A slot whose user code has not returned and whose functions are not closed after this time "
    "is killed. 0 for no limit.",
)  # fmt: skip

# Here, so that the reference has them last.
from headrace.common.settings import table_options  # noqa: E402


def environment_variable(key: str) -> str:
    """The environment variable that sets an option: `HEADRACE_PARALLELISM_DEFAULT` and the like."""
    return "HEADRACE_" + key.upper().replace(".", "_").replace("-", "_")


def spark_properties(configuration: Configuration) -> dict[str, str]:
    """The properties that are passed on to Spark: every `spark.*` that is set."""
    return {k: v for k, v in configuration.to_dict().items() if k.startswith("spark.")}
