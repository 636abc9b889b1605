"""The process of a SQL gateway: its sessions, their jobs, and the REST server before them."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from headrace.cluster.door import Door
from headrace.cluster.manager.attachment import attach
from headrace.cluster.manager.told_process import what_was_told
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import HeadraceError
from headrace.common.option_loading import load_configuration
from headrace.coordination.slots.dependencies import cache_directory

__all__ = ["SqlGateway", "gateway_directory", "main", "running_gateways"]

_log = logging.getLogger(__name__)


def gateway_directory(given: str | None = None) -> Path:
    """Where gateways say that they run, and write their logs."""
    directory = Path(given).resolve() if given else cache_directory() / "sql-gateway"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def running_gateways(directory: Path) -> list[dict[str, object]]:
    """Process and address of each gateway that runs, the one that was started last at the end."""
    running = []
    files = [(f.stat().st_mtime_ns, f) for f in directory.glob("*.json")]
    for _, file in sorted(files):
        try:
            with file.open() as about:
                fcntl.flock(about, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            running.append(json.loads(file.read_text()))
        except OSError:
            continue
    return running


class SqlGateway:
    """Serves until somebody says otherwise.

    Args:
        directory: Where it says that it runs.
        configuration: Settings of the gateway, and what every session begins with.
        job_manager: Whose cluster has its jobs; without one they are its own.
        on_start: Called with process and address as soon as it listens.
    """

    def __init__(
        self,
        directory: Path,
        configuration: Configuration,
        job_manager: str | None = None,
        on_start: Callable[[dict[str, object]], None] = lambda about: None,
    ) -> None:
        self._directory = directory
        self._configuration = configuration
        self._job_manager = job_manager
        self._on_start = on_start
        self._door = Door.of(
            configuration,
            "a SQL gateway",
            options.SQL_GATEWAY_BIND_ADDRESS,
            options.SQL_GATEWAY_BIND_PORT,
            otherwise=(options.SQL_GATEWAY_ADDRESS, options.SQL_GATEWAY_PORT),
        )

    def run(self) -> None:
        """Serve; jobs end with it."""
        # Late: its command imports this module, and does without the libraries of a server.
        from headrace.cluster.sql_gateway.app import create_app
        from headrace.cluster.sql_gateway.sessions import Sessions

        if self._job_manager is not None:
            attach(self._job_manager, "SQL gateway")
        listener = self._door.bind()
        sessions = Sessions(self._configuration)
        server = self._door.server(lambda guard: create_app(sessions, guard))
        about = self._door.about(listener)
        file = self._directory / f"{os.getpid()}.json"
        new = file.with_suffix(".new")
        with new.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(json.dumps(about))
            lock.flush()
            new.replace(file)
            try:
                _log.info("the SQL gateway listens on %s:%s", about["host"], about["port"])
                self._on_start(about)
                server.run(sockets=[listener])
            finally:
                file.unlink(missing_ok=True)
                sessions.close_all()


def main() -> int:
    """Entry point of what `headrace sql-gateway start` starts and tells its settings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--jobmanager")
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        configuration = load_configuration(None, what_was_told())
        SqlGateway(Path(arguments.directory), configuration, arguments.jobmanager).run()
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
