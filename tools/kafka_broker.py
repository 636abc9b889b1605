"""A real Kafka broker for tests and benchmarks: one node in KRaft mode, on loopback only.

    python -m tools.kafka_broker --topics lines counts
                                            run a broker until Ctrl+C, and print its address

Its jars are artifacts of the Apache Kafka project, resolved once by Maven (as it is configured on
the machine) into ``${XDG_CACHE_HOME:-~/.cache}/headrace``. Ports are chosen by the system; the
data is in a temporary directory and goes with the broker. The broker also ends when the process
that started it does, however that ends.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tools.processes import alive

KAFKA_VERSION = "4.1.0"
SCALA_VERSION = "2.13"
LOG4J_VERSION = "2.24.3"

_START_S = 180.0
_STOP_S = 60.0

_POM = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>headrace</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_{SCALA_VERSION}</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.coordinator.threads=1
num.network.threads=2
num.io.threads=2
num.recovery.threads.per.data.dir=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""

_LOGGING = """\
<Configuration status="ERROR">
  <Appenders>
    <Console name="console"><PatternLayout pattern="%d %p %c: %m%n"/></Console>
  </Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="console"/></Root></Loggers>
</Configuration>
"""

# The shell ends the broker when its standard input does, that is when our process has ended.
_GUARD = '"$@" </dev/null >>"$LOG" 2>&1 & echo $!; read -r _; kill -9 $! 2>/dev/null'


class KafkaUnavailableError(RuntimeError):
    """No broker can be had on this machine; the message says what is missing."""


def cache_directory() -> Path:
    """Where things are kept that tests and benchmarks download."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def broker_jars() -> Path:
    """The directory with the broker's jars; Maven fetches them the first time."""
    if shutil.which("java") is None:
        raise KafkaUnavailableError("the broker needs Java, and there is no java on the PATH")
    target = cache_directory() / f"kafka-{KAFKA_VERSION}"
    with (_made(target.parent) / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _resolve_jars(target)
    return target


def fetch_jar(artifact: str) -> Path:
    """One jar, by `group:artifact:version`, without what it depends on."""
    _, name, version = artifact.split(":")
    target = cache_directory() / f"{name}-{version}.jar"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=_made(target.parent)) as directory:
            _maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={directory}")
            Path(directory, target.name).rename(target)
    return target


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _resolve_jars(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        pom = Path(directory, "pom.xml")
        pom.write_text(_POM)
        jars = Path(directory, "jars")
        goal = ("dependency:copy-dependencies", "-DincludeScope=runtime")
        _maven("--file", str(pom), *goal, f"-DoutputDirectory={jars}")
        jars.rename(target)


def _maven(*arguments: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailableError(
            "Maven fetches jars, and there is no mvn on the PATH: install it "
            "(on Debian and Ubuntu: apt install maven; on macOS: brew install maven)"
        )
    run = subprocess.run(
        [maven, "--batch-mode", "--quiet", *arguments], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        output = (run.stdout + run.stderr).strip().splitlines()
        reason = output[0] if output else f"exit code {run.returncode}"
        raise KafkaUnavailableError(f"Maven could not fetch what is needed: {reason}")


class KafkaBroker:
    """One broker, from `start` to `stop`; it keeps its address and data when started again."""

    def __init__(self, fast_start: bool = True) -> None:
        """Prepare a broker; one that starts fast is compiled less, and slower under load."""
        self._jars = broker_jars()
        self._compiler = ("-XX:TieredStopAtLevel=1",) if fast_start else ()
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
        self._log = self._directory / "broker.log"
        self._guard: subprocess.Popen[str] | None = None
        self.pid = 0
        self.port, controller_port = _free_ports(2)
        self._properties = self._directory / "server.properties"
        self._properties.write_text(
            _PROPERTIES.format(
                port=self.port, controller_port=controller_port, data=self._directory / "data"
            )
        )
        (self._directory / "log4j2.xml").write_text(_LOGGING)
        self._format()

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> KafkaBroker:
        """Start the broker and wait until it answers."""
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", *self._java("kafka.Kafka", str(self._properties))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LOG": str(self._log)},
        )
        assert self._guard.stdout is not None
        self.pid = int(self._guard.stdout.readline())
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if not alive(self.pid) or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the broker did not start:\n{self._log.read_text()}")
            time.sleep(0.1)
        return self

    def stop(self, gracefully: bool = False) -> None:
        """End the broker: as a crash does, or in good order."""
        if self._guard is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM if gracefully else signal.SIGKILL)
        deadline = time.monotonic() + _STOP_S
        while alive(self.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        self._guard.stdin.close()
        self._guard.stdout.close()
        self._guard.wait(_STOP_S)
        self._guard = None

    def remove(self) -> None:
        """Stop the broker and delete its data."""
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _java(self, main: str, *arguments: str) -> list[str]:
        return [
            *("java", "-Xmx512m", "-XX:+UseSerialGC", *self._compiler),
            f"-Dlog4j2.configurationFile={self._directory / 'log4j2.xml'}",
            *("-cp", f"{self._jars}/*", main, *arguments),
        ]

    def _format(self) -> None:
        """Give the empty data directory an identity, without which a broker refuses it."""
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        config = ("--config", str(self._properties))
        run = subprocess.run(
            self._java("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", *config),
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise RuntimeError(f"no storage for the broker: {run.stdout}{run.stderr}")

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                pass
        except OSError:
            return False
        client = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=2).brokers)
        except KafkaException:
            return False


@contextlib.contextmanager
def running_broker(fast_start: bool = True) -> Iterator[KafkaBroker]:
    """A broker for the time of a `with` block."""
    broker = KafkaBroker(fast_start)
    try:
        yield broker.start()
    finally:
        broker.remove()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]


def create_topics(servers: str, names: list[str], partitions: int = 2) -> None:
    """Create topics, for somebody who tries something."""
    if not names:
        return
    from confluent_kafka.admin import AdminClient, NewTopic

    # It must outlive what it has promised.
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    created = admin.create_topics([NewTopic(name, partitions, 1) for name in names])
    for future in created.values():
        future.result(_START_S)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fetch", action="store_true", help="only fetch the jars")
    parser.add_argument("--topics", nargs="*", default=[], help="topics to create")
    options = parser.parse_args()
    try:
        if options.fetch:
            print(broker_jars())
            return 0
        with running_broker() as broker:
            create_topics(broker.bootstrap_servers, options.topics)
            print(f"bootstrap.servers={broker.bootstrap_servers}  (Ctrl+C ends it)", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
    except KafkaUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
