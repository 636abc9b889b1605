"""Where a broker is, and how to connect."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import urlsplit

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.datastream.connectors.client_library import client_library

__all__ = ["RMQConnectionConfig", "check_arguments", "declare_queue"]


@dataclass(frozen=True)
class RMQConnectionConfig:
    """Where a broker is, and how to connect. Make one with `RMQConnectionConfig.Builder`.

    Example:
        >>> builder = RMQConnectionConfig.Builder().set_host("localhost").set_port(5672)
        >>> builder.set_user_name("guest").set_password("guest").set_virtual_host("/").build()
    """

    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    uri: str | None = field(default=None, repr=False)
    network_recovery_interval: int | None = None
    automatic_recovery: bool | None = None
    topology_recovery: bool | None = None
    connection_timeout: int | None = None
    requested_channel_max: int | None = None
    requested_frame_max: int | None = None
    requested_heartbeat: int | None = None
    prefetch_count: int | None = None

    def get_host(self) -> str | None:
        """Name or address of the broker."""
        return self.host

    def get_port(self) -> int | None:
        """Its port."""
        return self.port

    def get_virtual_host(self) -> str | None:
        """The virtual host."""
        return self.virtual_host

    def get_user_name(self) -> str | None:
        """The user."""
        return self.user_name

    def get_password(self) -> str | None:
        """The user's password."""
        return self.password

    def get_uri(self) -> str | None:
        """The address as a URI, if it was given as one."""
        return self.uri

    def get_network_recovery_interval(self) -> int | None:
        """Accepted as in Flink; a job whose connection is lost restarts by its restart strategy."""
        return self.network_recovery_interval

    def is_automatic_recovery(self) -> bool | None:
        """Accepted as in Flink, see `get_network_recovery_interval`."""
        return self.automatic_recovery

    def is_topology_recovery(self) -> bool | None:
        """Accepted as in Flink, see `get_network_recovery_interval`."""
        return self.topology_recovery

    def get_connection_timeout(self) -> int | None:
        """Milliseconds that connecting may take."""
        return self.connection_timeout

    def get_requested_channel_max(self) -> int | None:
        """The most channels of a connection."""
        return self.requested_channel_max

    def get_requested_frame_max(self) -> int | None:
        """The most bytes of a frame."""
        return self.requested_frame_max

    def get_requested_heartbeat(self) -> int | None:
        """Seconds between heartbeats."""
        return self.requested_heartbeat

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.name not in ("password", "uri")]
        given = [f"{name}={getattr(self, name)!r}" for name in shown if getattr(self, name)]
        return f"RMQConnectionConfig({', '.join(given)})"

    @property
    def place(self) -> str:
        """The broker, for messages."""
        if self.uri:
            parts = urlsplit(self.uri)
            return f"{parts.hostname}:{parts.port or 5672}"
        return f"{self.host}:{self.port}"

    def connect(self) -> Any:
        """A connection of pika, for one thread."""
        pika = client_library("pika", "pika", "rabbitmq")
        try:
            return pika.BlockingConnection(self._parameters(pika))
        except pika.exceptions.ProbableAuthenticationError as error:
            raise HeadraceError(
                f"RabbitMQ at {self.place} refuses the user {self.user_name!r} ({error}); set "
                "set_user_name and set_password to those of a user with rights on the virtual host"
            ) from error
        except (pika.exceptions.AMQPError, OSError) as error:
            raise HeadraceError(
                f"RabbitMQ at {self.place} cannot be reached ({type(error).__name__}: {error}); "
                "is it running, and are host, port and virtual host right?"
            ) from error

    def probe(self) -> str:
        """Connect and leave again; the queue is declared by the job."""
        self.connect().close()
        return f"RabbitMQ at {self.place}"

    def _parameters(self, pika: Any) -> Any:
        if self.uri:
            parameters = pika.URLParameters(_plain_uri(self.uri))
        else:
            credentials = pika.PlainCredentials(self.user_name, self.password)
            parameters = pika.ConnectionParameters(
                self.host, self.port, self.virtual_host, credentials
            )
        if self.connection_timeout is not None:
            seconds = self.connection_timeout / 1_000 or None
            parameters.socket_timeout = parameters.blocked_connection_timeout = seconds
        for name in ("channel_max", "frame_max", "heartbeat"):
            value = getattr(self, f"requested_{name}")
            if value is not None:
                setattr(parameters, name, value)
        return parameters

    class Builder:
        """Builds an `RMQConnectionConfig`: from a URI, or from host, port, user and the rest."""

        def __init__(self) -> None:
            self._config = RMQConnectionConfig()

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """Set the port, usually 5672."""
            return self._with(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """Set the name or address of the broker."""
            return self._with(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """Set the virtual host, such as `/`."""
            return self._with(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """Set the user."""
            return self._with(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """Set the user's password."""
            return self._with(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Set all of it at once: `amqp://user:password@host:port/virtual_host`."""
            return self._with(uri=uri)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Set the seconds between heartbeats; 0 for none."""
            return self._with(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Set the most bytes of a frame."""
            return self._with(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(
            self, requested_channel_max: int
        ) -> RMQConnectionConfig.Builder:
            """Set the most channels of a connection."""
            return self._with(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Set the milliseconds that connecting may take; 0 for any time."""
            return self._with(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """Let the broker send at most so many messages that are not acknowledged yet.

            A job with checkpoints acknowledges messages when a checkpoint is complete, so it reads
            at most this many between two of them. Without it the broker sends all it has.
            """
            return self._with(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """The configuration."""
            config = self._config
            if config.uri is None:
                needed = ("host", "port", "virtual_host", "user_name", "password")
                missing = [name for name in needed if getattr(config, name) is None]
                if missing:
                    raise GraphError(
                        f"a connection to RabbitMQ needs set_{missing[0]}(), or set_uri() for all "
                        f"of it; missing: {', '.join(missing)}"
                    )
            return config

        def _with(self, **changes: Any) -> RMQConnectionConfig.Builder:
            self._config = replace(self._config, **changes)
            return self


def _plain_uri(uri: str) -> str:
    """As Flink's client reads it: without a path the virtual host is `/`."""
    return uri + "/%2f" if urlsplit(uri).path in ("", "/") else uri


def check_arguments(config: Any, queue_name: Any, schema: Any, kind: type, who: str) -> None:
    """Refuse what is not a broker, a queue or a schema, at the user's line."""
    if not isinstance(config, RMQConnectionConfig):
        raise FunctionTypeError(f"{who} takes an RMQConnectionConfig, not {config!r}")
    if not isinstance(queue_name, str) or not queue_name:
        raise FunctionTypeError(f"{who} takes the name of a queue, not {queue_name!r}")
    if not isinstance(schema, kind):
        raise FunctionTypeError(f"{who} takes a {kind.__name__}, not {schema!r}")


def declare_queue(channel: Any, queue: str) -> None:
    """As Flink does: the queue is there, and durable, whoever comes first."""
    channel.queue_declare(queue, durable=True)
