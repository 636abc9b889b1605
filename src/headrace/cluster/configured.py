"""The JobManager that the configuration names, if it names one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from headrace.common import options
from headrace.common.option_loading import load_configuration

__all__ = ["LOCAL", "configured_job_manager"]

LOCAL = "local"
"""What `-m` takes to mean no JobManager, whatever the configuration says."""


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
        configuration.contains(options.REST_ADDRESS) or configuration.contains(options.REST_PORT)
    ):
        return None
    address = str(configuration.get(options.REST_ADDRESS))
    port = configuration.get(options.REST_PORT)
    scheme = "https://" if configuration.contains(options.SSL_REST_CERTIFICATE) else ""
    return f"{scheme}{address}:{port}"
