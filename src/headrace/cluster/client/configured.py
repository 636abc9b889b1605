"""The JobManager that the configuration names, if it names one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping

from headrace.common import options as declared
from headrace.common.configuration import Configuration
from headrace.common.option_loading import load_configuration

__all__ = ["LOCAL", "add_cluster", "add_target", "chosen_job_manager", "configured_job_manager"]

LOCAL = "local"
"""What `-m` takes to mean no JobManager, whatever the configuration says."""


_TARGETS = (
    "local",
    "remote",
    "yarn-application",
    "yarn-session",
    "kubernetes-application",
    "kubernetes-session",
)


def add_target(parser: argparse._ActionsContainer) -> None:
    """Flink's option that says on what kind of cluster."""
    parser.add_argument(
        "-t",
        "--target",
        choices=_TARGETS,
        metavar="TARGET",
        help="as in Flink: `local` for this process (-m local), `remote` for the JobManager at "
        "rest.address and rest.port; with others, --master says where Spark runs",
    )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Options of a command whose own jobs can be those of a cluster."""
    parser.add_argument(
        "-m",
        "--jobmanager",
        metavar="HOST:PORT",
        help="run jobs on the cluster of this JobManager (default: rest.address and rest.port of "
        "the configuration, if they are set), which must run on this host; `local` for none",
    )
    add_target(parser)


def chosen_job_manager(options: argparse.Namespace, settings: Iterable[str] = ()) -> str | None:
    """The JobManager that `-m`, `-t` or the configuration names; None for this machine's jobs."""
    if LOCAL in (options.jobmanager, options.target):
        return None
    named: str | None = options.jobmanager or configured_job_manager(settings)
    if named is None and options.target == "remote":
        return _address(load_configuration(None, settings))
    return named


def configured_job_manager(
    settings: Iterable[str] = (), environ: Mapping[str, str] | None = None
) -> str | None:
    """`host:port` if `rest.address` or `rest.port` is set anywhere, else None.

    They may be set on the command line, in the environment or in the configuration file.
    """
    places = dict(os.environ if environ is None else environ)
    # What Flink's own file names is the JobManager of a Flink cluster.
    places.pop("FLINK_CONF_DIR", None)
    configuration = load_configuration(None, settings, places)
    if not (
        configuration.contains(declared.REST_ADDRESS) or configuration.contains(declared.REST_PORT)
    ):
        return None
    return _address(configuration)


def _address(configuration: Configuration) -> str:
    address = str(configuration.get(declared.REST_ADDRESS))
    port = configuration.get(declared.REST_PORT)
    scheme = "https://" if configuration.contains(declared.SSL_REST_CERTIFICATE) else ""
    return f"{scheme}{address}:{port}"
