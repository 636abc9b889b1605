"""Real database servers for tests: PostgreSQL and MariaDB, on loopback only.

    python -m tools.database_server postgresql     run a server until Ctrl+C, and print its URL

The programs are Debian's. Those on the machine are used; else root has them installed, and others
have the packages downloaded and unpacked below ``${XDG_CACHE_HOME:-~/.cache}/headrace``. A server
never runs as root. Its data is in a temporary directory and goes with it, and it ends when the
process that started it does, however that ends.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tools.debian import PackageUnavailableError, install
from tools.processes import alive

if TYPE_CHECKING:
    import psycopg
    import pymysql

_START_S = 180.0
_STOP_S = 60.0

# The shell ends the server when its standard input does, that is when our process has ended.
_GUARD = '"$@" </dev/null >>"$LOG" 2>&1 & echo $!; read -r _; kill -9 $! 2>/dev/null'


_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>jars</artifactId><version>1</version><dependencies>
<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>
<version>{version}</version></dependency></dependencies></project>"""


class DatabaseUnavailableError(RuntimeError):
    """No server can be had on this machine; the message says what is missing."""


def cache_directory() -> Path:
    """Where things are kept that tests download."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def fetched_jars(product: str, artifact: str, version: str) -> Path:
    """The directory with an artifact's jars; Maven fetches them the first time."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        raise DatabaseUnavailableError(f"{product} needs Java, and Maven to fetch it")
    target = cache_directory() / f"{product}-{version}"
    cache_directory().mkdir(parents=True, exist_ok=True)
    with (cache_directory() / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch_jars(target, artifact, version)
    return target


def _fetch_jars(target: Path, artifact: str, version: str) -> None:
    group, name = artifact.split(":")
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        pom, jars = Path(directory, "pom.xml"), Path(directory, "jars")
        pom.write_text(_POM.format(group=group, name=name, version=version))
        goal = ("dependency:copy-dependencies", "-DincludeScope=runtime")
        command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), *goal]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={jars}"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise DatabaseUnavailableError(f"Maven has no {artifact}: {done.stdout[:300]}")
        jars.rename(target)


class DatabaseServer(ABC):
    """One server, from `start` to `stop`; it keeps its address and data when started again."""

    product: str
    program: str
    packages: tuple[str, ...]
    places: tuple[str, ...]
    user = "headrace"
    password = "secret"
    database = "shop"

    def __init__(self) -> None:
        self.root, self.bin = self.programs()
        self._account = _account()
        self.directory = Path(tempfile.mkdtemp(prefix=f"headrace-{self.product}-"))
        self.data = self.directory / "data"
        self._own(self.directory)
        self._log = self.directory / "server.log"
        self._log.touch()
        self._own(self._log)
        self._guard: subprocess.Popen[str] | None = None
        self.pid = 0
        with socket.socket() as opened:
            opened.bind(("127.0.0.1", 0))
            self.port: int = opened.getsockname()[1]
        try:
            self._initialize()
        except (OSError, subprocess.CalledProcessError) as error:
            self.remove()
            output = getattr(error, "output", "") or ""
            raise DatabaseUnavailableError(f"{self.product}: {error}\n{output}") from error

    @property
    def url(self) -> str:
        """What programs connect to."""
        return f"jdbc:{self.product}://127.0.0.1:{self.port}/{self.database}"

    # Programs.

    @classmethod
    def programs(cls) -> tuple[Path | None, Path]:
        """Where packages are unpacked, if they are, and the directory of the programs.

        They are fetched the first time.
        """
        unpacked = cache_directory() / f"debian-{cls.product}"
        cache_directory().mkdir(parents=True, exist_ok=True)
        with (cache_directory() / f"{unpacked.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = cls._find(Path("/"))
            if found is not None:
                return None, found
            if not unpacked.exists():
                cls._get(unpacked)
            found = cls._find(Path("/"))
            if found is not None:
                return None, found
            found = cls._find(unpacked)
        if found is None:
            raise DatabaseUnavailableError(f"the packages {cls.packages} have no {cls.program}")
        return unpacked, found

    @classmethod
    def _find(cls, root: Path) -> Path | None:
        places = [d for pattern in cls.places for d in sorted(root.glob(pattern), reverse=True)]
        return next((d for d in places if (d / cls.program).exists()), None)

    @classmethod
    def _get(cls, target: Path) -> None:
        if shutil.which("apt-get") is None:
            raise DatabaseUnavailableError(f"{cls.product} is not installed, and no apt-get is")
        if os.geteuid() == 0:
            try:
                return install(*cls.packages)
            except PackageUnavailableError as error:
                raise DatabaseUnavailableError(f"{cls.product}: {error}") from error
        with tempfile.TemporaryDirectory(dir=target.parent) as directory:
            depends = subprocess.run(
                [
                    *("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests"),
                    *("--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"),
                    *cls.packages,
                ],
                capture_output=True,
                text=True,
            )
            names = {line for line in depends.stdout.split("\n") if line[:1].isalnum()}
            run = subprocess.run(
                ("apt-get", "download", *sorted(names)), cwd=directory, capture_output=True
            )
            if run.returncode != 0:
                raise DatabaseUnavailableError(f"{cls.product} cannot be downloaded")
            tree = Path(directory, "tree")
            for package in Path(directory).glob("*.deb"):
                subprocess.run(("dpkg", "-x", str(package), str(tree)), check=True)
            tree.rename(target)

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, "LOG": str(self._log), "LC_ALL": "C"}
        if self.root is not None:
            libraries = {str(f.parent) for f in self.root.rglob("*.so*")}
            environment["LD_LIBRARY_PATH"] = ":".join(sorted(libraries))
        return environment

    # Life.

    @abstractmethod
    def _initialize(self) -> None:
        """Make the data directory."""

    @abstractmethod
    def _command(self) -> list[str]:
        """What runs the server in the foreground."""

    @abstractmethod
    def _create_database(self) -> None:
        """Called once, when the server runs; also when everything is there already."""

    def start(self) -> DatabaseServer:
        """Start the server and wait until it answers."""
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", *self._command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment(),
            cwd=self.directory,
            **self._account,
        )
        assert self._guard.stdout is not None
        self.pid = int(self._guard.stdout.readline())
        deadline = time.monotonic() + _START_S
        while True:
            try:
                self._create_database()
                return self
            except Exception as error:
                if not alive(self.pid) or time.monotonic() > deadline:
                    log = self._log.read_text()
                    self.stop()
                    raise DatabaseUnavailableError(f"{error}:\n{log}") from error
            time.sleep(0.1)

    def stop(self) -> None:
        """End the server at once; clients lose their connections."""
        if self._guard is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, self.stop_signal)
        deadline = time.monotonic() + _STOP_S
        while alive(self.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        self._guard.stdin.close()
        self._guard.stdout.close()
        self._guard.wait(_STOP_S)
        self._guard = None

    stop_signal = signal.SIGTERM

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _run(self, *command: str) -> None:
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(),
            cwd=self.directory,
            **self._account,
        )

    def _own(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account["user"], self._account["group"])


class PostgreSqlServer(DatabaseServer):
    """PostgreSQL, ready for prepared transactions and for readers of its log."""

    product = "postgresql"
    program = "postgres"
    packages = ("postgresql",)
    places = ("usr/lib/postgresql/*/bin", "usr/local/pgsql/bin", "usr/local/bin")
    wal_level = "logical"
    # Fast: transactions that are open are rolled back.
    stop_signal = signal.SIGINT

    def _initialize(self) -> None:
        password = self.directory / "password"
        password.write_text(self.password)
        self._own(password)
        self._run(
            *(str(self.bin / "initdb"), "-D", str(self.data), "-U", self.user, "-E", "UTF8"),
            *("--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "--locale=C"),
        )

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_prepared_transactions": "32",
            "wal_level": self.wal_level,
            "fsync": "off",
            "shared_buffers": "32MB",
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.bin / "postgres"), "-D", str(self.data), *given]

    def connect(self, database: str | None = None) -> psycopg.Connection[tuple[object, ...]]:
        """A connection with autocommit."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database or self.database,
            autocommit=True,
        )

    def _create_database(self) -> None:
        with self.connect("postgres") as connection:
            name = (self.database,)
            if not connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", name
            ).rowcount:
                connection.execute(f"CREATE DATABASE {self.database}")


class MariaDbServer(DatabaseServer):
    """MariaDB, ready for readers of its log."""

    product = "mariadb"
    program = "mariadbd"
    packages = ("mariadb-server",)
    places = ("usr/sbin", "usr/local/sbin")

    def _initialize(self) -> None:
        install = self.bin.parent / "bin" / "mariadb-install-db"
        self._run(
            *(str(install), "--no-defaults", f"--datadir={self.data}", "--skip-test-db"),
            *("--auth-root-authentication-method=normal", f"--basedir={self.bin.parent}"),
            # A server removes temporary tables of others from a directory that they share.
            f"--tmpdir={self.directory}",
        )

    def _command(self) -> list[str]:
        return [
            *(str(self.bin / "mariadbd"), "--no-defaults", f"--datadir={self.data}"),
            *("--bind-address=127.0.0.1", f"--port={self.port}", "--skip-name-resolve"),
            *(f"--socket={self.directory}/socket", f"--pid-file={self.directory}/pid"),
            *(f"--tmpdir={self.directory}", "--innodb-buffer-pool-size=32M"),
            *("--server-id=1", f"--log-bin={self.data}/log", "--sync-binlog=0"),
            *("--binlog-format=ROW", "--binlog-row-metadata=FULL"),
        ]

    def connect(self, database: str | None = None) -> pymysql.connections.Connection:
        """A connection with autocommit."""
        import pymysql

        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=self.password,
            database=database or self.database,
            autocommit=True,
        )

    def _create_database(self) -> None:
        import pymysql

        connection = pymysql.connect(unix_socket=f"{self.directory}/socket", user="root")
        with connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {self.database}")
            cursor.execute(
                f"CREATE USER IF NOT EXISTS '{self.user}'@'%' IDENTIFIED BY '{self.password}'"
            )
            cursor.execute(f"GRANT ALL ON {self.database}.* TO '{self.user}'@'%'")
            cursor.execute(
                f"GRANT RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '{self.user}'@'%'"
            )


SERVERS = {"postgresql": PostgreSqlServer, "mariadb": MariaDbServer}


@contextlib.contextmanager
def running_server(product: str) -> Iterator[DatabaseServer]:
    """A server for the time of a `with` block."""
    server = SERVERS[product]()  # type: ignore[abstract]
    try:
        yield server.start()
    finally:
        server.remove()


def _account() -> dict[str, int]:
    """Who runs the server, if it would be root otherwise."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid}
    raise DatabaseUnavailableError("root runs no servers, and there is no user postgres or nobody")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("product", choices=sorted(SERVERS))
    try:
        with running_server(parser.parse_args().product) as server:
            user = f"user {server.user}, password {server.password}"
            print(f"{server.url}  {user}  (Ctrl+C ends it)", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
    except DatabaseUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
