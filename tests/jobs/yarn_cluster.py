"""A real YARN in one process, from Hadoop's own test jar, for jobs to run on."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pyspark

from tools.kafka_broker import fetch_jar

_SOURCE = Path(__file__).with_name("MiniYarn.java")
_OF_SPARK = (
    "commons-cli-*",
    "hadoop-client-api-*",
    "hadoop-client-runtime-*",
    "jakarta.*",
    "javax.*",
    "jcl-over-slf4j-*",
    "log4j-*",
    "slf4j-api-*",
    "snappy-java-*",
)
_FAILED = b'Exception in thread "main"'
_OTHERS = (
    "org.junit.jupiter:junit-jupiter-api:5.8.2",
    "org.junit.platform:junit-platform-commons:1.8.2",
    "org.opentest4j:opentest4j:1.2.0",
    "org.mockito:mockito-core:4.11.0",
    "org.bouncycastle:bcprov-jdk18on:1.78.1",
    "org.bouncycastle:bcpkix-jdk18on:1.78.1",
    "org.bouncycastle:bcutil-jdk18on:1.78.1",
)
LIMIT_S = 300.0


class YarnCluster:
    """A resource manager and one node; they end with `close`, and with the process that started it.

    Raises:
        KafkaUnavailableError: Jars cannot be fetched.
    """

    def __init__(self, directory: Path) -> None:
        self.configuration = directory / "configuration"
        self.configuration.mkdir()
        self._log = directory / "yarn.log"
        jars = Path(pyspark.__file__).parent / "jars"
        own = [str(j) for name in _OF_SPARK for j in sorted(jars.glob(name))]
        version = next(jars.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
        cluster = f"org.apache.hadoop:hadoop-client-minicluster:{version}"
        fetched = [str(fetch_jar(artifact)) for artifact in (cluster, *_OTHERS)]
        command = ["java", "-Xmx512m", "-cp", ":".join([fetched[0], *own, *fetched[1:]])]
        command += [f"-Dtest.build.data={directory / 'nodes'}", str(_SOURCE)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, str(self.configuration / "yarn-site.xml")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        self._wait()

    @staticmethod
    def missing() -> str | None:
        """What this machine lacks for it."""
        return next((f"no {p} is there" for p in ("javac", "mvn") if not shutil.which(p)), None)

    def _wait(self) -> None:
        deadline = time.monotonic() + LIMIT_S
        while b"ready\n" not in (said := self._log.read_bytes()):
            ended = self._process.poll() is not None or _FAILED in said
            if ended or time.monotonic() > deadline:
                self.close()
                raise AssertionError(self._log.read_text(errors="replace"))
            time.sleep(0.2)

    def close(self) -> None:
        """End it; its containers end with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
