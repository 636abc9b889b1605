"""A real server for tests of MongoDB, on loopback only: FerretDB, which keeps documents in SQLite.

MongoDB itself is in none of the registries that the tests use. FerretDB 1 speaks its protocol, and
is built by Go from the module proxy, once.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.database_server import DatabaseServer, DatabaseUnavailableError, cache_directory

__all__ = ["FerretDbServer"]

VERSION = "1.24.0"
_MODULE = f"github.com/FerretDB/FerretDB@v{VERSION}"
_BUILD_S = 900


class FerretDbServer(DatabaseServer):
    """One server."""

    product = "ferretdb"
    program = "ferretdb"
    packages = ()
    places = ()

    @classmethod
    def programs(cls) -> tuple[Path | None, Path]:
        target = cache_directory() / f"ferretdb-{VERSION}"
        cache_directory().mkdir(parents=True, exist_ok=True)
        with (cache_directory() / f"{target.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                _build(target)
        return None, target

    @property
    def url(self) -> str:
        """What programs connect to."""
        return f"mongodb://127.0.0.1:{self.port}"

    def _initialize(self) -> None:
        # The program may be in a home directory that only its owner can read.
        shutil.copy(self.bin / self.program, self.directory)
        self.data.mkdir()
        for path in self.directory.iterdir():
            self._own(path)

    def _command(self) -> list[str]:
        return [
            *(str(self.directory / self.program), f"--listen-addr=127.0.0.1:{self.port}"),
            *("--handler=sqlite", f"--sqlite-url=file:{self.data}/", "--telemetry=disable"),
            *("--debug-addr=-", f"--state-dir={self.data}", "--log-level=error"),
        ]

    def _create_database(self) -> None:
        import pymongo

        with pymongo.MongoClient(self.url, serverSelectionTimeoutMS=500) as client:
            client.admin.command("ping")


def _build(target: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise DatabaseUnavailableError("FerretDB is built by Go, and there is no go on the PATH")
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        places = {"GOPATH": f"{directory}/go", "GOFLAGS": "-modcacherw"}

        def run(*arguments: str, cwd: str = directory) -> str:
            done = subprocess.run(
                [go, *arguments],
                cwd=cwd,
                env={**os.environ, **places},
                check=True,
                capture_output=True,
                text=True,
                timeout=_BUILD_S,
            )
            return done.stdout

        try:
            # In its own tree: to install a program by its name, Go wants the list of all its
            # versions, which a proxy may not have.
            source = json.loads(run("mod", "download", "-json", _MODULE))["Dir"]
            Path(source, "build", "version", "version.txt").write_text(f"v{VERSION}")
            built = f"{directory}/bin/ferretdb"
            run("build", "-tags=ferretdb_no_postgresql", "-o", built, "./cmd/ferretdb", cwd=source)
        except subprocess.TimeoutExpired as error:
            raise DatabaseUnavailableError(f"FerretDB was not built in {_BUILD_S} s") from error
        except subprocess.CalledProcessError as error:
            raise DatabaseUnavailableError(f"FerretDB cannot be built: {error.stderr}") from error
        Path(directory, "bin").rename(target)
