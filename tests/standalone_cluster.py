"""A Spark standalone cluster on this machine: one master, two workers, from the PySpark package.

The workers have loopback addresses of their own, so that Spark takes them for two hosts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pyspark

from tests.faults.processes import descendants_of, short_lived

HOSTS = ("127.0.0.1", "127.0.0.2")
LIMIT_S = 480.0


class StandaloneCluster:
    """Processes of a cluster; they end with `close`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            log = self._start("master", HOSTS[0], "master.Master", ["--port", "0"])
            self.master = self._wait_for(log, r"Starting Spark master at (spark://\S+)")
            for number, host in enumerate(HOSTS):
                arguments = ["--cores", "3", "--memory", "1g", "--work-dir"]
                arguments += [str(directory / f"work-{number}"), self.master]
                log = self._start(f"worker-{number}", host, "worker.Worker", arguments)
                self._wait_for(log, "(Successfully registered) with master")
        except BaseException:
            self.close()
            raise

    def executors(self) -> list[int]:
        """The processes of all executors."""
        word = b"CoarseGrainedExecutorBackend"
        return [pid for process in self._processes for pid in descendants_of(process.pid, word)]

    def close(self) -> None:
        """End all processes, executors included: a worker ends its own."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, host: str, java_class: str, arguments: list[str]) -> Path:
        log = self._directory / f"{name}.log"
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            **short_lived(),
            "SPARK_LOCAL_DIRS": str(self._directory / "local"),
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{java_class}"]
        command += ["--host", host, "--webui-port", "0", *arguments]
        with log.open("wb") as out:
            self._processes.append(
                subprocess.Popen(command, stdout=out, stderr=out, env=environment)
            )
        return log

    def _wait_for(self, log: Path, pattern: str) -> str:
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            if found := re.search(pattern, log.read_text(errors="replace")):
                return found.group(1)
            if self._processes[-1].poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{pattern!r} did not come:\n{log.read_text(errors='replace')}")
