"""Spark: the context and session that are there, or new ones with the settings that matter here.

Jobs need the context alone. A session is for queries: it brings Spark's SQL with all its functions,
which takes Java as long to load as everything else.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import install_exception_handler
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from headrace.common import options
from headrace.common.display.waiting import waiting
from headrace.common.errors import ConfigurationError
from headrace.common.files.rolling_log import DEFAULT_LIMIT, LogLimit, keep_file_small
from headrace.common.files.scratch import ScratchDirectory
from headrace.common.settings.secrets import is_secret
from headrace.coordination.slots.zygote import slot_zygote
from headrace.spark import shared
from headrace.spark.class_archive import archive_options, writes_archive
from headrace.spark.idle.client import take
from headrace.spark.idle.request import SparkRequest
from headrace.spark.jvm import spark_of

_log = logging.getLogger(__name__)
_MIB = 1 << 20
_LEAST_MEMORY = 1024 * _MIB
_MOST_MEMORY = 4096 * _MIB
_lock = threading.RLock()

MIN_JAVA = 17
_MASTER = "local[*]"

_ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.executorEnv.PYTHONHASHSEED": "0",
}
_ON_A_CLUSTER = {
    # An executor that is let go takes its slots with it.
    "spark.dynamicAllocation.enabled": "false",
    # Tasks are to go where their slots are, not where most of their input is.
    "spark.shuffle.reduceLocality.enabled": "false",
}
_ON_YARN = {
    # Its containers have temporary directories whose paths are too long for such a socket.
    "spark.python.unix.domain.socket.enabled": "false",
}
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Nothing crosses a network, so squeezing the data only costs time.
    "spark.shuffle.compress": "false",
    "spark.python.daemon.module": "headrace.spark.python_daemon",
}

_FILE_BUFFER = "65536"

_PATIENT_COMPILER = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times Java's own thresholds. In a job of three million records its optimising compiler took
as much processor time as a slot, on the same cores, for code that mostly waits and copies. Queries
that run in the JVM are not slower for it once they are warm."""

_CHEAP_LOCKS = ("-XX:+UseBiasedLocking",)
"""Spark reads and writes each row of an exchange through streams of Java that lock four times and
more, always in the same thread. Java 17 can have such locks for nothing; newer ones ignore it."""


def get_or_create_session(
    settings: Mapping[str, str], log_limit: LogLimit = DEFAULT_LIMIT, idle_s: float = 0.0
) -> SparkSession:
    """The active session, or a new one; arguments are those of `get_or_create_context`."""
    with _lock:
        found = SparkSession.getActiveSession() or SparkSession._instantiatedSession
        if found is not None and found.sparkContext._jsc is not None:
            return found
        return SparkSession(get_or_create_context(settings, log_limit, idle_s))


def get_or_create_context(
    settings: Mapping[str, str], log_limit: LogLimit = DEFAULT_LIMIT, idle_s: float = 0.0
) -> SparkContext:
    """The active context, or a new one.

    Args:
        settings: `spark.*` settings of the user; they win over ours. `spark.master` is `local[*]`
            by default.
        log_limit: How much of Spark's own log is kept.
        idle_s: How long a Spark waits for the next run when this process has ended.
    """
    with _lock:
        found = SparkContext._active_spark_context
        if found is not None and found._jsc is not None:
            return found
        _before_starting()
        if shared.is_shared():
            return shared.attach()
        if not is_this_process(settings.get("spark.master", _MASTER)):
            return start_context(settings, log_limit)
        request = idle_request(settings, log_limit)
        # It gets ready while Spark does.
        slot_zygote()
        return _idle_context(request, idle_s) or start_context(settings, log_limit)


def idle_request(settings: Mapping[str, str], log_limit: LogLimit) -> SparkRequest:
    """What a run in this place starts, for somebody else to start it before."""
    return SparkRequest.of_this_process(settings, log_limit, check_java(), _find_spark_home())


def _idle_context(request: SparkRequest, idle_s: float) -> SparkContext | None:
    """One that a keeper has ready for this user."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        # This process has a JVM; a new context begins there.
        return None
    with waiting("waiting for the idle Spark"):
        place = take(request, idle_s)
    if place is None:
        return None
    try:
        context = shared.attach_to(place["port"], place["secret"])
    except (Py4JError, PySparkException, OSError) as error:
        # It was killed just now.
        _log.info("the idle Spark cannot be used: %s", error)
        SparkContext._gateway = SparkContext._jvm = None
        return None
    _log.info("Spark %s was idle and is used", context.version)
    return context


def start_context(settings: Mapping[str, str], log_limit: LogLimit) -> SparkContext:
    """A new context; arguments are those of `get_or_create_context`."""
    java = check_java()
    master = settings.get("spark.master", _MASTER)
    merged = dict(_ALWAYS)
    if master.startswith("local"):
        merged |= _ON_THIS_MACHINE
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if is_this_process(master):
        # Spark looks here last, after all settings and files of the user.
        os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{_java_memory() // _MIB}m")
    if not is_this_process(master):
        merged |= _ON_A_CLUSTER
    if master.startswith("yarn"):
        merged |= _ON_YARN
    archive = archive_options(java, _find_spark_home())
    merged["spark.driver.extraJavaOptions"] = " ".join((*_java_options(master), *archive))
    merged |= settings
    merged["spark.master"] = master
    merged.setdefault("spark.app.name", "headrace")
    _before_starting()
    with waiting("starting Spark"):
        context = _started(merged, log_limit)
        if writes_archive(archive):
            # It is for later runs too, which may have queries.
            SparkSession(context)
    if "spark.buffer.size" in merged:
        # Spark would also read and write files in pieces of that size.
        files = spark_of(context).hadoopConfiguration()
        files.set("io.file.buffer.size", _FILE_BUFFER)
    _log.info("Spark %s on %s", context.version, master)
    return context


def _before_starting() -> None:
    """What Spark, and the process that slots are copied from, find in this one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if logging.getLogger("py4j").level == logging.NOTSET:
        # It logs every connection, which a program that shows all logs does not want to see.
        logging.getLogger("py4j").setLevel(logging.WARNING)


def local_threads(master: str) -> int | None:
    """How many tasks run at once on this machine, where there are no retries; else None."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    if found is None:
        return None
    return _processors() if found[1] == "*" else int(found[1] or 1)


def _processors() -> int:
    """As Java counts them: those that this process may use, as far as a container lets it."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    with contextlib.suppress(OSError, ValueError):
        # Without a limit the first word is not a number.
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, max(math.ceil(int(quota) / int(period)), 1))
    return count


def _java_memory() -> int:
    """A quarter of what there is, as Java itself would take; Spark alone takes one gigabyte."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        # Without a limit it is not a number.
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(max(memory // 4, _LEAST_MEMORY), _MOST_MEMORY)


def choose_python(executable: str) -> None:
    """Let Spark's workers and the slots run with an interpreter.

    Raises:
        ConfigurationError: If it is not there, or they run with another one already.
    """
    found = shutil.which(executable)
    if found is None:
        raise ConfigurationError(
            f"{options.PYTHON_EXECUTABLE.key} names the interpreter of the slots, {executable}, "
            "which is not there or cannot be started; name one that every host has",
            key=options.PYTHON_EXECUTABLE.key,
            value=executable,
        )
    context = SparkContext._active_spark_context
    chosen = context.pythonExec if context is not None else os.environ.get("PYSPARK_PYTHON")
    if chosen is None:
        os.environ["PYSPARK_PYTHON"] = found
    elif not _is_same(found, shutil.which(chosen) or chosen):
        raise ConfigurationError(
            f"{options.PYTHON_EXECUTABLE.key} names {found} for the slots, but they run with "
            f"{chosen}, as PYSPARK_PYTHON or the first job of this process says; leave one of "
            "the two away",
            key=options.PYTHON_EXECUTABLE.key,
            value=executable,
        )


def _is_same(one: str, other: str) -> bool:
    """Whether two paths are one interpreter; those of virtual environments are links to one."""
    with contextlib.suppress(OSError):
        folders = Path(one).parent.resolve(), Path(other).parent.resolve()
        return folders[0] == folders[1] and os.path.samefile(one, other)
    return False


def _started(settings: Mapping[str, str], log_limit: LogLimit) -> SparkContext:
    """A context; where Spark does not start, the reason without a Java trace."""
    # PySpark writes these on the command line of the JVM, which everybody on the machine can read.
    # What is missing there reaches the JVM through its gateway.
    readable = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        if not is_secret(key):
            readable.set(key, value)
    with java_output_in_a_file(log_limit) as log:
        try:
            SparkContext._ensure_initialized(conf=readable)
            # Errors of the JVM are to be those that a session would have them be.
            install_exception_handler()
            return SparkContext(conf=SparkConf().setAll(list(settings.items())))
        except (Py4JError, PySparkException) as error:
            where = "" if log is None else f"; everything that it wrote is in {log}"
            raise ConfigurationError(
                f"Spark does not start on {settings['spark.master']}: {_reason(error, log)}{where}"
            ) from None


def _reason(error: Exception, log: Path | None) -> str:
    """The innermost cause, of the JVM or of the script that was to start it."""
    cause = getattr(error, "java_exception", None)
    if cause is not None:
        while cause.getCause() is not None:
            cause = cause.getCause()
        return str(cause.getMessage() or cause.getClass().getName())
    written = log.read_text(errors="replace") if log is not None else ""
    # The JVM names what it lacks without the first words, before it has a thread.
    line = r'^(?:Exception in thread "main" )?(?:[\w$]+\.)+[\w$]+: (.+)$'
    found = re.search(line, written, re.MULTILINE)
    return found.group(1) if found else str(error).strip().partition("\n")[0]


def is_this_process(master: str) -> bool:
    """Whether the driver's JVM is the executor as well."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def check_java() -> str:
    """The Java that Spark will use.

    Raises:
        ConfigurationError: It is missing or too old; this says what to do, a Java trace would not.
    """
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        raise ConfigurationError(
            f"Spark needs Java {MIN_JAVA} or newer, and no java was found"
            + (f" in JAVA_HOME={home}" if home else " on the PATH")
            + f": install a JDK {MIN_JAVA} (for example the package "
            f"openjdk-{MIN_JAVA}-jre-headless) or set JAVA_HOME"
        )
    version = _release_of(java)
    if version is not None and version < MIN_JAVA:
        raise ConfigurationError(
            f"Spark needs Java {MIN_JAVA} or newer, but {java} is Java {version}: "
            "install a newer one or set JAVA_HOME to it"
        )
    return java


def _release_of(java: str) -> int | None:
    """The version, from the JDK's release file where there is one: starting a JVM takes a while.

    Until Java 8 it began with `1.`.
    """
    release = Path(os.path.realpath(java)).parent.parent / "release"
    text = release.read_text() if release.exists() else ""
    found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    if found is None:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
        found = re.search(r'version "(?:1\.)?(\d+)', shown.stderr)
    return int(found.group(1)) if found else None


def _java_options(master: str) -> Iterator[str]:
    yield _quiet_logging()
    if is_this_process(master):
        yield from (*_PATIENT_COMPILER, *_CHEAP_LOCKS)


def _quiet_logging() -> str:
    file = Path(__file__).with_name("log4j2-headrace.properties")
    return f"-Dlog4j2.configurationFile=file:{file}"


@contextlib.contextmanager
def java_output_in_a_file(limit: LogLimit) -> Iterator[Path | None]:
    """Let the JVM that is started meanwhile write to a file instead of the user's terminal."""
    if os.environ.get("HEADRACE_SPARK_LOG") == "terminal":
        yield None
        return
    directory, scratch = os.environ.get("HEADRACE_LOG_DIR"), None
    if directory is None:
        directory = str(scratch := ScratchDirectory("spark"))
    # A new file: one with a name that can be guessed may be a link that somebody left there.
    log, name = tempfile.mkstemp(".log", f"headrace-spark-{os.getpid()}-", directory)
    # So that a file that was truncated goes on at its new end.
    fcntl.fcntl(log, fcntl.F_SETFL, fcntl.fcntl(log, fcntl.F_GETFL) | os.O_APPEND)
    path = Path(name)
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        yield path
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, log):
            os.close(descriptor)
    keep_file_small(path, limit)
    _log.info("Spark's own log is in %s", path)
    if scratch is not None:
        # Nobody looks for it after a clean end; it stays where a driver is killed or cannot start.
        atexit.register(scratch.remove)
