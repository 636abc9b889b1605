"""The REST application over a real dispatcher, without Spark and without a server."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

from starlette.applications import Starlette

from headrace.cluster.door import Door
from headrace.cluster.manager.dispatcher import Dispatcher
from headrace.cluster.manager.empty_job import empty_parts
from headrace.cluster.manager.executors import Executors
from headrace.cluster.manager.programs import Programs
from headrace.cluster.rest.app import create_app
from headrace.cluster.rest.endpoints import Cluster
from headrace.cluster.rest.guard import GuardSettings
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.coordination.bodies.flink_json import to_json
from headrace.coordination.bodies.jobs import JobOverview
from headrace.spark.executor_report import ExecutorReport

ENDED = "0123456789abcdef" * 2
LIMIT = 10_000


def rest_app(
    directory: Path, token: str | None = None, hosts: tuple[str, ...] = ("testserver",)
) -> Starlette:
    """An application that knows one job, which has failed."""
    job = directory / "jobs" / ENDED
    job.mkdir(parents=True)
    submission = {
        "program": "0" * 32 + "_job.py",
        "entry": None,
        "arguments": [],
        "settings": {},
        "parallelism": None,
        "savepoint": None,
        "allow_non_restored_state": False,
        "pyflink": False,
    }
    about = {"submission": submission, "file": "job.py", "submitted_ms": 1000}
    (job / "submission.json").write_text(json.dumps(about))
    overview = JobOverview(ENDED, "ended", "FAILED", 1000, 2000, 1000, last_modification=2000)
    ended = empty_parts(overview, "it broke")
    (job / "ended.json").write_text(json.dumps(to_json(ended)))
    (job / "job.log").write_text("what it said\n")
    (directory / "job-manager.log").write_text("started\n")
    programs = Programs(directory / "programs", LIMIT)
    dispatcher = Dispatcher(directory, programs, {})
    dispatcher.recover()
    one = ExecutorReport("driver", "h:1", 2, 1 << 30, 1 << 20, 0)
    cluster = Cluster(
        dispatcher,
        programs,
        2,
        {"rest.port": "8081"},
        lambda: None,
        Executors(lambda: [one], dispatcher, "4.0"),
        str(directory),
    )
    return create_app(cluster, GuardSettings(hosts, token, LIMIT))


@contextlib.contextmanager
def served(directory: Path) -> Iterator[tuple[str, int]]:
    """The application behind a real server; its host and port."""
    configuration = Configuration.from_dict({"rest.bind-port": "0"})
    door = Door.of(
        configuration, "a server", options.REST_BIND_ADDRESS, options.REST_BIND_PORT,
        otherwise=(options.REST_ADDRESS, options.REST_PORT),
    )  # fmt: skip
    listener = door.bind()
    server = door.server(lambda _: rest_app(directory, hosts=("127.0.0.1",)))
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    serving.start()
    host, port = listener.getsockname()
    try:
        yield host, port
    finally:
        server.should_exit = True
        serving.join(60)
