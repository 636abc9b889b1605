"""A real Elasticsearch for tests, on loopback only: Maven has it, for tests of plugins."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from tools.database_server import DatabaseServer, DatabaseUnavailableError, cache_directory

__all__ = ["ElasticsearchServer"]

VERSION = "8.19.4"
_ARTIFACT = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{VERSION}:zip"


class ElasticsearchServer(DatabaseServer):
    """One node, without security."""

    product = "elasticsearch"
    program = "elasticsearch"
    packages = ()
    places = ()

    @classmethod
    def programs(cls) -> tuple[Path | None, Path]:
        target = cache_directory() / f"elasticsearch-{VERSION}"
        cache_directory().mkdir(parents=True, exist_ok=True)
        with (cache_directory() / f"{target.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                _fetch(target)
        return None, target / "bin"

    @property
    def url(self) -> str:
        """What programs connect to."""
        return f"http://127.0.0.1:{self.port}"

    def _initialize(self) -> None:
        # It writes into its configuration, and does not run as root.
        self.config = self.directory / "config"
        shutil.copytree(self.bin.parent, self.directory / "home", symlinks=True)
        for path in (self.directory / "home").rglob("*"):
            self._own(path)
        self._own(self.directory / "home")

    def _environment(self) -> dict[str, str]:
        java = shutil.which("java")
        if java is None:
            raise DatabaseUnavailableError("Elasticsearch needs Java")
        home = str(Path(java).resolve().parents[1])
        options = "-Xms256m -Xmx256m -XX:TieredStopAtLevel=1"
        return {**super()._environment(), "ES_JAVA_HOME": home, "ES_JAVA_OPTS": options}

    def _command(self) -> list[str]:
        settings = {
            "discovery.type": "single-node",
            "xpack.security.enabled": "false",
            "network.host": "127.0.0.1",
            "http.port": str(self.port),
            "transport.port": "0",
            "path.data": str(self.data),
            "path.logs": str(self.directory / "logs"),
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        program = self.directory / "home" / "bin" / "elasticsearch"
        return [str(program), *(p for k, v in settings.items() for p in ("-E", f"{k}={v}"))]

    def _create_database(self) -> None:
        urllib.request.urlopen(f"{self.url}/_cluster/health?wait_for_status=yellow", timeout=30)


def _fetch(target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise DatabaseUnavailableError("Elasticsearch is fetched by Maven, and there is no mvn")
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        goal = ("dependency:copy", f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={directory}")
        command = [maven, "--batch-mode", "--quiet", *goal]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archive = next(Path(directory).glob("*.zip"), None)
        if done.returncode != 0 or archive is None:
            raise DatabaseUnavailableError(f"Maven has no {_ARTIFACT}: {done.stdout[:300]}")
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(directory)
        unpacked = Path(directory, f"elasticsearch-{VERSION}")
        for program in (unpacked / "bin").iterdir():
            program.chmod(0o755)
        unpacked.rename(target)
