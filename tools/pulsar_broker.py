"""A real Pulsar for tests, on loopback only, of the jars that Maven has: one broker with its store.

It keeps metadata in RocksDB, so there is no ZooKeeper, and it deduplicates when a namespace says
so.
"""

from __future__ import annotations

import json
import shutil
import socket
import urllib.request
from pathlib import Path
from typing import Any

from tools.database_server import DatabaseServer, DatabaseUnavailableError, fetched_jars

__all__ = ["PulsarBroker"]

VERSION = "4.0.7"
_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.net", "java.base/java.nio"),
    *("java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.zip"),
    *("java.base/sun.net", "java.base/sun.nio.ch", "java.base/jdk.internal.loader"),
    *("java.base/jdk.internal.platform", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)
_SETTINGS = """
clusterName=standalone
bindAddress=127.0.0.1
advertisedAddress=127.0.0.1
brokerServicePort={port}
webServicePort={http_port}
managedLedgerDefaultEnsembleSize=1
managedLedgerDefaultWriteQuorum=1
managedLedgerDefaultAckQuorum=1
managedLedgerCacheSizeMB=16
numIOThreads=2
numHttpServerThreads=4
functionsWorkerEnabled=false
loadBalancerEnabled=false
allowLoopback=true
journalSyncData=false
diskUsageThreshold=0.999
diskUsageWarnThreshold=0.99
dbStorage_writeCacheMaxSizeMb=16
dbStorage_readAheadCacheMaxSizeMb=16
webSocketServiceEnabled=false
defaultNumberOfNamespaceBundles=1
"""
_LOGGING = """<Configuration status="ERROR"><Appenders><Console name="console">
<PatternLayout pattern="%d %p %c: %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="console"/></Root></Loggers></Configuration>"""


class PulsarBroker(DatabaseServer):
    """One broker."""

    product = "pulsar"
    program = "java"
    packages = ()
    places = ()

    @classmethod
    def programs(cls) -> tuple[Path | None, Path]:
        return None, fetched_jars("pulsar", "org.apache.pulsar:pulsar-broker", VERSION)

    @property
    def service_url(self) -> str:
        """What clients connect to."""
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def admin_url(self) -> str:
        """Its REST API."""
        return f"http://127.0.0.1:{self.http_port}"

    def _initialize(self) -> None:
        # The jars may be in a home directory that only its owner can read.
        shutil.copytree(self.bin, self.directory / "jars")
        self.data.mkdir()
        with socket.socket() as opened, socket.socket() as other:
            for free in (opened, other):
                free.bind(("127.0.0.1", 0))
            self.http_port = opened.getsockname()[1]
            self._store_port = other.getsockname()[1]
        settings = _SETTINGS.format(port=self.port, http_port=self.http_port)
        (self.directory / "standalone.conf").write_text(settings)
        (self.directory / "log4j2.xml").write_text(_LOGGING)
        for path in self.directory.rglob("*"):
            self._own(path)

    def _command(self) -> list[str]:
        opened = [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED]
        small = ("-Xmx400m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC")
        given = (
            f"-Dlog4j.configurationFile={self.directory}/log4j2.xml",
            "-XX:TieredStopAtLevel=1",
        )
        main = ("org.apache.pulsar.PulsarStandaloneStarter", "--advertised-address", "127.0.0.1")
        return [
            *("java", *small, *given, *opened, "-cp", f"{self.directory}/jars/*", *main),
            *("--config", f"{self.directory}/standalone.conf", "--no-functions-worker"),
            *("--no-stream-storage", "--bookkeeper-port", str(self._store_port)),
            *(
                "--metadata-dir",
                f"{self.data}/metadata",
                "--bookkeeper-dir",
                f"{self.data}/ledgers",
            ),
        ]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A request to the REST API."""
        request = urllib.request.Request(
            f"{self.admin_url}/admin/v2/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def _create_database(self) -> None:
        if "public/default" not in self.ask("GET", "namespaces/public"):
            raise DatabaseUnavailableError("the default namespace is not there yet")
