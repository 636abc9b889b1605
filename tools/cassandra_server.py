"""A real Cassandra for tests, on loopback only, of the jars that Maven has."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

from tools.database_server import DatabaseServer, fetched_jars

__all__ = ["CassandraServer"]

VERSION = "5.0.9"
_SETTINGS = """
cluster_name: headrace
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [{data}/data]
commitlog_directory: {data}/commitlog
saved_caches_directory: {data}/caches
hints_directory: {data}/hints
cdc_raw_directory: {data}/cdc
commitlog_sync: periodic
commitlog_sync_period: 10000ms
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{storage}"}}]
listen_address: 127.0.0.1
storage_port: {storage}
rpc_address: 127.0.0.1
native_transport_port: {port}
endpoint_snitch: SimpleSnitch
auto_snapshot: false
"""
_LOGGING = """<configuration><appender name="S" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%level %msg%n</pattern></encoder></appender>
<root level="WARN"><appender-ref ref="S"/></root></configuration>"""
_HOW = ("exports", "opens")
_OPENED = (
    *("java.base/java.io", "java.base/java.lang", "java.base/java.lang.module"),
    *("java.base/java.net", "java.base/java.nio", "java.base/java.util"),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic"),
    *("java.base/jdk.internal.loader", "java.base/jdk.internal.math"),
    *("java.base/jdk.internal.misc", "java.base/jdk.internal.module"),
    *("java.base/jdk.internal.ref", "java.base/jdk.internal.reflect"),
    *("java.base/jdk.internal.util.jar", "java.base/sun.nio.ch", "java.base/java.lang.reflect"),
    *("java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry"),
    *("java.rmi/sun.rmi.server", "jdk.management/com.sun.management.internal"),
)


class CassandraServer(DatabaseServer):
    """One node."""

    product = "cassandra"
    program = "java"
    packages = ()
    places = ()

    @classmethod
    def programs(cls) -> tuple[Path | None, Path]:
        return None, fetched_jars("cassandra", "org.apache.cassandra:cassandra-all", VERSION)

    def _initialize(self) -> None:
        # The jars may be in a home directory that only its owner can read.
        shutil.copytree(self.bin, self.directory / "jars")
        self.data.mkdir()
        with socket.socket() as opened:
            opened.bind(("127.0.0.1", 0))
            storage = opened.getsockname()[1]
        settings = _SETTINGS.format(data=self.data, storage=storage, port=self.port)
        (self.directory / "cassandra.yaml").write_text(settings)
        (self.directory / "logback.xml").write_text(_LOGGING)
        for path in self.directory.rglob("*"):
            self._own(path)

    def _command(self) -> list[str]:
        opened = [f"--add-{how}={name}=ALL-UNNAMED" for name in _OPENED for how in _HOW]
        settings = {
            "cassandra.config": f"file://{self.directory}/cassandra.yaml",
            "cassandra.storagedir": str(self.data),
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.ring_delay_ms": "0",
            "jdk.attach.allowAttachSelf": "true",
        }
        given = [f"-D{name}={value}" for name, value in settings.items()]
        small = ("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        path = f"{self.directory}:{self.directory}/jars/*"
        main = "org.apache.cassandra.service.CassandraDaemon"
        return ["java", *small, *given, *opened, "-cp", path, main]

    def connect(self) -> Any:
        """A cluster of the driver, and a session."""
        from cassandra.cluster import Cluster

        cluster = Cluster(["127.0.0.1"], port=self.port)
        return cluster, cluster.connect()

    def _create_database(self) -> None:
        socket.create_connection(("127.0.0.1", self.port), 10).close()
        cluster, session = self.connect()
        session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {self.database} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        cluster.shutdown()
