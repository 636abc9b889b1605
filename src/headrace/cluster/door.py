"""Where a server of ours listens and whom it lets in: its address, token and certificate."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common import options
from headrace.common.config_options import ConfigOption
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError

if TYPE_CHECKING:
    import uvicorn

    from headrace.cluster.rest.guard import GuardSettings

__all__ = ["LARGEST", "Door"]

LARGEST = 100 << 20
"""Bytes that a request may have."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Door:
    """Loopback for everybody on this machine; anything else with a token, and encrypted."""

    host: str
    ports: str
    ports_key: str
    token: str | None
    certificate: str | None
    key: str | None

    @staticmethod
    def of(
        configuration: Configuration,
        what: str,
        address: ConfigOption[Any],
        ports: ConfigOption[Any],
        *,
        otherwise: tuple[ConfigOption[Any], ConfigOption[Any]] | None = None,
    ) -> Door:
        """The door that a configuration describes.

        Args:
            configuration: The settings.
            what: Who listens, for the error.
            address: The option with the address.
            ports: The option with a port or a range of ports.
            otherwise: Options that count where those are not set.

        Raises:
            ConfigurationError: Everybody could come in.
        """
        get = configuration.get
        host, port = get(address), get(ports)
        if otherwise is not None:
            host, port = host or get(otherwise[0]), port or get(otherwise[1])
        door = Door(
            str(host),
            str(port),
            ports.key,
            os.environ.get("HEADRACE_CLUSTER_TOKEN"),
            get(options.SSL_REST_CERTIFICATE),
            get(options.SSL_REST_KEY),
        )
        if not door.is_loopback and not (door.token and door.certificate and door.key):
            raise ConfigurationError(
                f"{what} that listens on {host} runs programs for everyone who can reach it: set "
                "HEADRACE_CLUSTER_TOKEN in its environment, and security.ssl.rest.certificate and "
                "security.ssl.rest.key in its settings"
            )
        return door

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def bind(self) -> socket.socket:
        """Listen on the first port that is free."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        reason = OSError("there is none")
        for port in self._numbers():
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((self.host, port))
                # Whoever finds the address may call at once, and waits until we serve.
                listener.listen(128)
            except OSError as error:
                listener.close()
                reason = error
                continue
            return listener
        raise ConfigurationError(
            f"port {self.ports} of {self.host} cannot be used ({reason}); set {self.ports_key}"
        )

    def _numbers(self) -> list[int]:
        """Ports such as `8083`, `8083-8090` or `8083,8090`."""
        numbers: list[int] = []
        try:
            for part in self.ports.split(","):
                first, _, last = part.partition("-")
                numbers += range(int(first), int(last or first) + 1)
        except ValueError:
            raise ConfigurationError(
                f"{self.ports_key} must be a port or a range such as 8083-8090, not {self.ports!r}"
            ) from None
        return numbers

    def about(self, listener: socket.socket) -> dict[str, object]:
        """Process, host, port and address, for those who look for the server."""
        port = listener.getsockname()[1]
        host = f"[{self.host}]" if ":" in self.host else self.host
        address = f"{'https://' if self.certificate else ''}{host}:{port}"
        return {"pid": os.getpid(), "host": self.host, "port": port, "address": address}

    def server(self, create_app: Callable[[GuardSettings], Any]) -> uvicorn.Server:
        """A server for an application behind the guard of this door."""
        # Late: clients import this module, too, and do without the libraries of a server.
        import uvicorn

        from headrace.cluster.rest.connections import GuardedConnection
        from headrace.cluster.rest.guard import GuardSettings

        hosts = _LOOPBACK if self.is_loopback else ()
        return uvicorn.Server(
            uvicorn.Config(
                create_app(GuardSettings(hosts, self.token, LARGEST)),
                log_level="warning",
                http=GuardedConnection,
                ws="none",
                lifespan="off",
                ssl_certfile=self.certificate,
                ssl_keyfile=self.key,
                timeout_graceful_shutdown=5,
            )
        )
