"""Real servers for tests besides databases: RabbitMQ and Redis, of Debian, on loopback only.

They are found, installed, started and ended as `tools.database_server` does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

from tools.database_server import DatabaseServer

__all__ = ["RabbitMqServer", "RedisServer"]


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


class RabbitMqServer(DatabaseServer):
    """RabbitMQ, with the user `guest`."""

    product = "rabbitmq"
    program = "rabbitmq-server"
    packages = ("rabbitmq-server",)
    places = ("usr/lib/rabbitmq/bin",)
    user = password = "guest"
    node = "rabbit@localhost"

    def _initialize(self) -> None:
        self._epmd_port = _free_port()
        self.data.mkdir()
        self._own(self.data)
        plugins = self.directory / "plugins"
        plugins.write_text("[].")
        self._own(plugins)

    def _environment(self) -> dict[str, str]:
        return {
            **super()._environment(),
            "HOME": str(self.directory),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(_free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.data),
            "RABBITMQ_LOG_BASE": str(self.data),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self.directory / "none"),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "none"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.directory / "none.config"),
        }

    def _command(self) -> list[str]:
        return [str(self.bin / self.program)]

    def _create_database(self) -> None:
        # The client writes a page into the log for each refused connection.
        socket.create_connection(("127.0.0.1", self.port), 10).close()
        self.connect().close()

    def connect(self) -> Any:
        """A connection of pika."""
        import pika

        return pika.BlockingConnection(
            pika.ConnectionParameters("127.0.0.1", self.port, blocked_connection_timeout=30)
        )

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The broker does not answer for a while, and connections stay."""
        pid = int((self.directory / "pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def remove(self) -> None:
        """Also end the daemon that Erlang starts beside it."""
        self.stop()
        with contextlib.suppress(OSError):
            environment = {**os.environ, "ERL_EPMD_PORT": str(self._epmd_port)}
            subprocess.run(["epmd", "-kill"], env=environment, capture_output=True, check=False)
        super().remove()


class RedisServer(DatabaseServer):
    """Redis, with a password."""

    product = "redis"
    program = "redis-server"
    packages = ("redis-server",)
    places = ("usr/bin",)

    def _initialize(self) -> None:
        self.data.mkdir()
        self._own(self.data)

    @property
    def url(self) -> str:
        """What programs connect to."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def _command(self) -> list[str]:
        return [
            *(str(self.bin / self.program), "--bind", "127.0.0.1", "--port", str(self.port)),
            *("--dir", str(self.data), "--requirepass", self.password, "--save", ""),
        ]

    def _create_database(self) -> None:
        import redis

        redis.Redis.from_url(self.url).ping()
