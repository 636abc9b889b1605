"""Reporters that a job starts by itself: an endpoint for Prometheus, as Flink's reporter has it."""

from __future__ import annotations

import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.coordination.job.master import JobMaster
from headrace.coordination.views.metric_values import metrics_of
from headrace.coordination.views.prometheus import CONTENT_TYPE, prometheus_text
from headrace.runtime.slot.strangers import PATIENCE_S

__all__ = ["PrometheusEndpoint", "start_reporters"]

_log = logging.getLogger(__name__)

_PORT = "9249"
_HOST = "127.0.0.1"


def start_reporters(configuration: Configuration, master: JobMaster) -> list[PrometheusEndpoint]:
    """Start the reporters that are configured; they end with the job.

    A reporter that cannot be started is a warning, not the end of the job.
    """
    settings = configuration.to_dict()
    started = []
    for name in configuration.get(options.METRICS_REPORTERS):
        top = f"metrics.reporter.{name}."
        kind = settings.get(f"{top}factory.class", name)
        if "prom" not in kind.lower():
            _log.warning(
                "metrics reporter %s (%s) is not supported; only Prometheus is", name, kind
            )
            continue
        host = settings.get(f"{top}host", _HOST)
        try:
            endpoint = PrometheusEndpoint(master, host, settings.get(f"{top}port", _PORT))
        except (OSError, ValueError) as error:
            _log.warning("metrics reporter %s cannot be started: %s", name, error)
            continue
        _log.info("metrics for Prometheus are at http://%s:%s/metrics", host, endpoint.port)
        started.append(endpoint)
    for endpoint in started:
        master.result_future().add_done_callback(endpoint.close)
    return started


class PrometheusEndpoint:
    """Serves the metrics of one job.

    Args:
        master: The job.
        host: Address to listen on.
        ports: A port, or a range of them such as `9250-9260`, of which the first free one is taken.
    """

    def __init__(self, master: JobMaster, host: str, ports: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE_S

            def do_GET(self) -> None:
                if self.path.partition("?")[0] not in ("/", "/metrics"):
                    self.send_error(404)
                    return
                page = prometheus_text([metrics_of(master)], {}).encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing: a line for every scrape would be noise."""

        self._server = _bound(host, ports, Handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, daemon=True, name="headrace-prometheus"
        ).start()

    @property
    def port(self) -> int:
        """The port that was free."""
        return int(self._server.server_address[1])

    def close(self, _: object = None) -> None:
        """Stop listening; a future that is done may call it."""
        self._server.shutdown()
        self._server.server_close()


def _bound(host: str, ports: str, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    first, _, last = ports.partition("-")
    failure: OSError | None = None
    for port in range(int(first), int(last or first) + 1):
        try:
            return ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            failure = error
    raise failure or ValueError(f"{ports!r} is not a port")
