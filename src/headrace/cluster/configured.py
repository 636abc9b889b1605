"""The JobManager that the configuration names, if it names one."""

from __future__ import annotations

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
    configuration = load_configuration(None, settings, environ)
    known = configuration.to_dict()
    if options.REST_ADDRESS.key not in known and options.REST_PORT.key not in known:
        return None
    address = str(configuration.get(options.REST_ADDRESS))
    port = configuration.get(options.REST_PORT)
    scheme = "https://" if "security.ssl.rest.certificate" in known else ""
    return f"{scheme}{address}:{port}"
