"""The JobManager: one process with one Spark application, the jobs on it, and the REST server."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from headrace.cluster.door import LARGEST, Door
from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.executors import Executors
from headrace.cluster.manager.programs import Programs
from headrace.cluster.manager.told_process import what_was_told
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.files.rolling_log import LogLimit
from headrace.common.option_loading import load_configuration
from headrace.common.settings.secrets import without_secrets
from headrace.coordination.slots.dependencies import cache_directory

__all__ = ["cluster_directory", "main", "running_job_manager"]

_log = logging.getLogger(__name__)

_ABOUT = "job-manager.json"
_LOOK_S = 0.5
_GRACE_S = 3.0


def cluster_directory(given: str | None = None) -> Path:
    """Where a JobManager keeps its jobs: what it is started with again to go on with them."""
    directory = Path(given).resolve() if given else cache_directory() / "cluster"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def running_job_manager(directory: Path) -> dict[str, object] | None:
    """Address and process of the JobManager of a directory, if it runs."""
    try:
        about: dict[str, object] = json.loads((directory / _ABOUT).read_text())
        with (directory / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return about
    except (OSError, ValueError):
        pass
    return None


class JobManager:
    """Starts everything in order, and ends it in the other."""

    def __init__(
        self, directory: Path, configuration: Configuration, *, application_of: int | None = None
    ) -> None:
        self._directory = directory
        self._application_of = application_of
        self._configuration = configuration
        self._door = Door.of(
            configuration,
            "a JobManager",
            options.REST_BIND_ADDRESS,
            options.REST_BIND_PORT,
            otherwise=(options.REST_ADDRESS, options.REST_PORT),
        )

    def run(self) -> None:
        """Serve until somebody says otherwise."""
        lock = (self._directory / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"a JobManager is already running in {self._directory}; stop it, or use --dir"
            ) from None
        listener = self._door.bind()
        # Late: commands import this module to find a JobManager, and need no Spark.
        from headrace.spark import shared
        from headrace.spark.executor_report import executors_of
        from headrace.spark.live.choice import session_settings
        from headrace.spark.session import get_or_create_context

        context = get_or_create_context(
            session_settings(self._configuration), LogLimit.of(self._configuration)
        )
        programs = Programs(self._directory / "programs", LARGEST)
        dispatcher = Dispatcher(
            self._directory,
            programs,
            shared.environment_of(context),
            LogLimit.of(self._configuration),
            on_this_machine=self._configuration.get(options.SPARK_MASTER).startswith("local"),
        )
        executors = Executors(lambda: executors_of(context), dispatcher, context.version)
        recovered = dispatcher.recover()
        _log.info("resuming %d jobs of an earlier JobManager", len(recovered))
        try:
            self._serve(listener, dispatcher, programs, executors, shared.slots_of(context))
        finally:
            (self._directory / _ABOUT).unlink(missing_ok=True)
            dispatcher.close()
            context.stop()

    def _serve(
        self,
        listener: socket.socket,
        dispatcher: Dispatcher,
        programs: Programs,
        executors: Executors,
        slots: int,
    ) -> None:
        # Late: commands that only ask a JobManager do without the libraries of a server.
        from headrace.cluster.rest.app import Cluster, create_app

        def shut_down() -> None:
            server.should_exit = True

        shown = without_secrets(self._configuration.to_dict())
        cluster = Cluster(
            dispatcher, programs, slots, shown, shut_down, executors, str(self._directory)
        )
        server = self._door.server(lambda guard: create_app(cluster, guard))
        if self._application_of is not None:
            watch = (dispatcher, self._application_of, shut_down)
            threading.Thread(target=end_with_jobs, args=watch, daemon=True).start()
        about = self._door.about(listener)
        new = self._directory / f"{_ABOUT}.new"
        new.write_text(json.dumps(about))
        new.replace(self._directory / _ABOUT)
        _log.info("the JobManager listens on %s:%s", about["host"], about["port"])
        server.run(sockets=[listener])


def end_with_jobs(dispatcher: Dispatcher, starter: int, shut_down: Callable[[], None]) -> None:
    """End when jobs were submitted and all of them have ended; clients may still ask for a while.

    A program is waited for as long as the process that started this one runs.
    """
    nobody_comes = False
    while not dispatcher.all_ended(nobody_comes):
        time.sleep(_LOOK_S)
        nobody_comes = os.getppid() != starter
    time.sleep(_GRACE_S)
    _log.info("the job has ended; ending its JobManager")
    shut_down()


def main() -> int:
    """Entry point of the process that `headrace start-cluster` starts and tells its settings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--application", type=int, metavar="PROCESS")
    parser.add_argument("--temporary", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    configuration = load_configuration(None, what_was_told())
    try:
        directory = Path(arguments.directory)
        JobManager(directory, configuration, application_of=arguments.application).run()
    except ConfigurationError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 2
    if arguments.temporary:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
