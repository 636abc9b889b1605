"""`headrace run -m`: hands a program to a JobManager and follows its job."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.job_manager import cluster_directory, running_job_manager
from headrace.cluster.program_options import settings_of
from headrace.cluster.rest_client import RestClient, packed

_POLL_S = 0.5
_ENDED = ("FINISHED", "CANCELED", "FAILED")


def job_manager_of(options: argparse.Namespace) -> str | None:
    """The address that `-m` names, or for `-d` that of the cluster that runs here."""
    if options.jobmanager is not None:
        return str(options.jobmanager)
    if not options.detached:
        return None
    about = running_job_manager(cluster_directory())
    if about is None:
        raise UsageError(
            "-d leaves the job with a JobManager, and none runs here: `headrace start-cluster` "
            "starts one, -m names another"
        )
    return f"{about['host']}:{about['port']}"


def submit(options: argparse.Namespace, address: str) -> int:
    """Upload the program and run it; wait for its end unless it is detached."""
    rest: list[str] = list(options.program)
    if rest[:1] == ["--"]:
        del rest[0]
    if options.pyModule:
        raise UsageError("a cluster takes a FILE, a directory or a zip, not a module's name")
    if options.python:
        rest.insert(0, options.python)
    if not rest:
        raise UsageError("which program? headrace run -m ADDRESS FILE [args ...]")
    file, *arguments = rest
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file {file!r}")
    if options.pyRequirements or options.pyArchives:
        raise UsageError(
            "-pyreq and -pyarch name files of this machine; install requirements where the "
            "JobManager runs, or set python.requirements to a path there with -D"
        )
    more = [Path(p) for p in (options.pyFiles or "").split(",") if p]
    client = RestClient(address)
    settings = settings_of(options).to_dict()
    for name in ("python.files", "execution.state-recovery.path", "parallelism.default"):
        settings.pop(name, None)
    job = client.submit(
        client.upload(*packed(path, more)),
        {
            "entry": path.name if path.suffix == ".py" and more else None,
            "programArgsList": arguments,
            "parallelism": options.parallelism,
            "savepointPath": options.fromSavepoint,
            "allowNonRestoredState": options.allowNonRestoredState,
            "pyflink": options.pyflink,
            "settings": {key: str(value) for key, value in settings.items()},
        },
    )
    print(f"Job has been submitted with JobID {job}", flush=True)
    return ExitCode.OK if options.detached else _follow(client, job)


def _follow(client: RestClient, job: str) -> int:
    """Show what the job writes until it ends; an interrupt leaves it alone."""
    shown = 0
    try:
        while True:
            state = client.request("GET", f"/jobs/{job}")["state"]
            text = client.request("GET", f"/jobs/{job}/log?offset={shown}")
            shown += len(text.encode())
            sys.stdout.write(text)
            sys.stdout.flush()
            if state in _ENDED:
                break
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        print(f"job {job} goes on; `headrace cancel -m ...` ends it", file=sys.stderr)
        return ExitCode.INTERRUPTED
    print(f"job {job} is {state}", file=sys.stderr)
    return ExitCode.OK if state == "FINISHED" else ExitCode.FAILED
