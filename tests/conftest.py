"""What every test shares: a loopback Spark, markers by folder, and a steady hypothesis."""

from __future__ import annotations

import fcntl
import functools
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.kafka.broker import Kafka
    from tools.database_server import DatabaseServer, MariaDbServer, PostgreSqlServer
    from tools.queue_server import RabbitMqServer, RedisServer

# Before anything starts a JVM: Spark must not bind to whatever the host's name resolves to.
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

# Jobs of tests are not listed among those of the person who runs the tests.
_RUN_DIRECTORY = tempfile.TemporaryDirectory(prefix="headrace-tests-")
os.environ["HEADRACE_RUN_DIR"] = _RUN_DIRECTORY.name

# Nor does Spark wait for the next run when a notebook of a test has ended.
os.environ["HEADRACE_EXECUTION_IDLE_SPARK_TIMEOUT"] = "0"

# The many JVMs of tests live for seconds: compiling all that well costs more than half their time.
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
for _who in ("SUBMIT_OPTS", "LAUNCHER_OPTS", "DAEMON_JAVA_OPTS"):
    os.environ.setdefault(f"SPARK_{_who}", _SHORT_LIVED)

TESTS = Path(__file__).parent

# Servers that are started once for all tests that use them.
SERVERS = ("kafka", "postgresql", "mariadb", "rabbitmq", "redis_server")

MARKERS_BY_FOLDER = {
    "jobs": ("spark",),
    "compat": ("spark",),
    "faults": ("spark", "fault"),
    "pyflink": ("spark",),
    "dashboard": ("browser",),
    "jdbc": ("server",),
    "kafka": ("server",),
    "connectors": ("server",),
}

# A loaded machine makes single examples slow without anything being wrong, so no deadline.
# CI draws the same examples every time: a red build there can be repeated on a laptop, and more of
# them would only take longer. Runs on laptops, and `make test-all`, find what is rare.
settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, print_blob=True)
# For `make test-quick`, which chooses it by name: enough to see that something broke.
settings.register_profile("quick", deadline=None, max_examples=10, stateful_step_count=20)
# For `make test-all`, over night.
settings.register_profile("all", deadline=None, max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "local")


# Tests that mostly wait for processes, and their folders: those with the longest files come first.
WAITING = ("spark", "server", "browser")
LONGEST = ("kafka", "connectors", "dashboard", "cdc", "jdbc", "sql", "pyflink", "faults", "jobs")

# Folders whose files run in one worker, one after the other, because each worker has servers of
# its own.
TOGETHER = {"kafka": "kafka", "cdc": "databases", "jdbc": "databases"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing of folders that `make test-quick` leaves out."""
    markers = MARKERS_BY_FOLDER.get(_folder(collection_path), ())
    return any(f"not {marker}" in config.option.markexpr for marker in markers) or None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage in what is collected, now or later: it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for marker in MARKERS_BY_FOLDER.get(_folder(item.path), ()):
            item.add_marker(marker)
        if not set(SERVERS).isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("server")
    if hasattr(config, "workerinput"):
        items[:] = _mixed(items)


@functools.cache
def _folder(path: Path) -> str:
    parts = path.relative_to(TESTS).parts if path.is_relative_to(TESTS) else ()
    return parts[0] if parts else ""


def _mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """Files whose tests wait, evenly between those whose tests compute, and the longest first.

    So the cores have work all the time, and no worker is left alone with a long file at the end.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting, computing = [], []
    for path, tests in files.items():
        waits = any(test.get_closest_marker(name) for test in tests for name in WAITING)
        (waiting if waits else computing).append(path)
    order = {folder: number for number, folder in enumerate(LONGEST)}
    waiting.sort(key=lambda path: order.get(_folder(path), len(order)))
    places = {p: n / len(g) for g in (waiting, computing) for n, p in enumerate(g)}
    return [item for path in sorted(files, key=places.__getitem__) for item in files[path]]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadServerScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return TOGETHER.get(_folder(config.rootpath / file), file)

    return LoadServerScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Twice as many as there are cores, or one more if all tests are of those that only compute.

    Where processes are started, killed and waited for, a test leaves a core idle for two thirds of
    its time, and some of the others wait for a second, too.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    return cores + 1 if "not spark" in config.option.markexpr else cores * 2


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("spark") or item.get_closest_marker("browser"):
        _have_class_archive_written()


# Jobs, and queries that run in the JVM: what later JVMs load.
_ARCHIVED = """
from pyspark import SparkContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.spark.session import get_or_create_session

session = get_or_create_session({})
print("started", flush=True)
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).key_by(lambda x: x).reduce(max).execute_and_collect().close()
session.range(9).selectExpr("id % 3 AS k").groupBy("k").count().collect()
session.stop()
java = SparkContext._gateway.proc
java.stdin.close()
java.wait()
"""

_WRITERS: list[subprocess.Popen[bytes]] = []


@functools.cache
def _have_class_archive_written() -> None:
    """Start what writes the archive of Spark's classes, if this is the first Spark of this user.

    A JVM writes it as it ends. Those of the processes that run tests end last of all, and the
    hundred that other tests start would load their classes anew, for four seconds of processor time
    each. So a process of its own does it, while tests run.
    """
    from tests.spark_classes import class_archive

    archive = class_archive().path
    with archive.with_name("tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists():
            return
        writer = subprocess.Popen([sys.executable, "-c", _ARCHIVED], stdout=subprocess.PIPE)
        _WRITERS.append(writer)
        # When its Spark has started nobody else can claim the archive, and others see that it
        # is being written.
        assert writer.stdout is not None
        if writer.stdout.readline():
            archive.touch()


@pytest.fixture(scope="session", autouse=True)
def _spark_ends_with_the_tests() -> Iterator[None]:
    """Stops the Spark that jobs of this process have shared, if one was started."""
    yield
    if (context := _spark()) is not None:
        context.stop()
    for writer in _WRITERS:
        writer.wait()


@pytest.fixture
def room_for_live_jobs() -> None:
    """Ends a Spark that other tests have left and that has no room beside its own tasks."""
    if (context := _spark()) is None:
        return
    from headrace.spark.live.carrier import task_room

    if task_room(context) <= context.defaultParallelism:
        context.stop()


def _spark() -> Any:
    """The Spark of this process, if there is one."""
    pyspark = sys.modules.get("pyspark")
    return pyspark and pyspark.SparkContext._active_spark_context


@pytest.fixture(params=["epochs", "live"])
def either_carrier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test twice: with a Spark job for each epoch, and with one for all of them."""
    monkeypatch.setenv("HEADRACE_EXECUTION_CARRIER", request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """A real broker that all tests share; each takes topics of its own."""
    pytest.importorskip("confluent_kafka", reason="pip install 'headrace[kafka]'")
    from tests.kafka.broker import Kafka
    from tools.kafka_broker import KafkaUnavailableError, running_broker

    try:
        with running_broker() as broker:
            yield Kafka(broker)
    except KafkaUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSqlServer]:
    """A real PostgreSQL server that all tests share; each takes tables of its own."""
    yield from _database_server("postgresql")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDbServer]:
    """A real MariaDB server that all tests share; each takes tables of its own."""
    yield from _database_server("mariadb")


def _database_server(product: str) -> Iterator[Any]:
    pytest.importorskip("psycopg", reason="pip install 'headrace[jdbc]'")
    from tools.database_server import DatabaseUnavailableError, running_server

    try:
        with running_server(product) as server:
            yield server
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMqServer]:
    """A real RabbitMQ that all tests share; each takes queues of its own."""
    pytest.importorskip("pika", reason="pip install 'headrace[rabbitmq]'")
    from tools.queue_server import RabbitMqServer

    yield from _running(RabbitMqServer)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real Redis that all tests share; each takes keys of its own."""
    pytest.importorskip("redis", reason="pip install 'headrace[redis]'")
    from tools.queue_server import RedisServer

    yield from _running(RedisServer)


def _running(kind: type[DatabaseServer]) -> Iterator[Any]:
    from tools.database_server import DatabaseUnavailableError

    try:
        server = kind()
        try:
            yield server.start()
        finally:
            server.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))
