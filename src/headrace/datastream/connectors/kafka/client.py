"""Clients of Kafka: the library behind them, their settings, and what they say of an outage.

Programs give the settings of Kafka's Java clients, as Flink's do. The client here is librdkafka,
through confluent-kafka. Most names are the same; the others are translated, and a setting that
means nothing to it, such as the class of a deserializer, is left out.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from headrace.common.errors import ConfigurationError, FunctionTypeError, GraphError, HeadraceError

__all__ = ["KafkaError", "Outage", "client_settings", "confluent", "is_outage", "reached"]

_log = logging.getLogger(__name__)

_ELECTION_S = 3.0

_LEFT_OUT = frozenset(
    {
        "auto.include.jmx.reporter",
        "client.dns.lookup.timeout.ms",
        "client.id.prefix",
        "commit.offsets.on.checkpoint",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metadata.max.idle.ms",
        "metric.reporters",
        "partition.assignment.strategy",
        "partition.discovery.interval.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "register.consumer.metrics",
        "register.producer.metrics",
        "sasl.client.callback.handler.class",
        "sasl.jaas.config",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "value.deserializer",
        "value.serializer",
    }
)

_LEFT_OUT_BY_PREFIX = (
    "flink.",
    "metrics.",
    "sasl.kerberos.ticket.",
    "sasl.login.refresh.",
    "sasl.login.retry.",
)

_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

_SECURITY = ("sasl.", "security.", "ssl.")
_NO_SUCH = re.compile(r'No such configuration property: "(.+)"')
_PROBE_TIMEOUT_S = 10.0
_JAAS_FIELD = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


class KafkaError(HeadraceError):
    """Kafka refused something, or has not got what the program asks for."""


def confluent() -> Any:
    """The module `confluent_kafka`."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise ConfigurationError(
            "Kafka needs the package confluent-kafka: pip install 'headrace[kafka]'"
        ) from error
    return confluent_kafka


def checked_properties(properties: Any) -> dict[str, str]:
    """Settings that a user gave, as text."""
    if not isinstance(properties, Mapping):
        raise FunctionTypeError(f"properties must be a dict of str, not {properties!r}")
    return {checked_text(k, "the name of a property"): _text(v) for k, v in properties.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked_text(value: Any, what: str) -> str:
    """A text that must not be empty."""
    if not isinstance(value, str) or not value:
        raise FunctionTypeError(f"{what} must be a non-empty str, not {value!r}")
    return value


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings of librdkafka for those of a Java client."""
    settings: dict[str, Any] = {}
    for key, value in properties.items():
        if key in _LEFT_OUT or key.startswith(_LEFT_OUT_BY_PREFIX):
            continue
        if key == "buffer.memory":
            settings["queue.buffering.max.kbytes"] = max(int(value) // 1024, 1)
        elif key == "ssl.truststore.location":
            settings["ssl.ca.location"] = _pem(value)
        else:
            settings[_RENAMED.get(key, key)] = value
    if "sasl.jaas.config" in properties:
        settings.update(_credentials(properties["sasl.jaas.config"]))
    return settings


def _pem(location: str) -> str:
    if location.endswith((".jks", ".p12", ".pfx")):
        raise GraphError(
            f"ssl.truststore.location is {location!r}, but the client reads certificates as PEM: "
            "export them to a .pem file and use that"
        )
    return location


def _credentials(jaas: str) -> dict[str, str]:
    fields = dict(_JAAS_FIELD.findall(jaas))
    if "username" not in fields or "password" not in fields:
        raise GraphError(
            "sasl.jaas.config has no username and password; for other mechanisms give the "
            "settings of librdkafka, such as sasl.oauthbearer.config"
        )
    return {"sasl.username": fields["username"], "sasl.password": fields["password"]}


def known_properties(kind: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that the client knows; the others have no effect, as in the Java client.

    A client that connects to nobody is made of them, to find a wrong value where it was given.
    """
    known = dict(properties)
    while unknown := _refused_name(kind, client_settings(known)):
        if unknown not in known or unknown.startswith(_SECURITY):
            raise GraphError(
                f"Kafka's client has no property {unknown!r}, and access may depend on it; the "
                "names are those of librdkafka where they differ from the Java client's"
            )
        _log.warning("Kafka's client has no property %r: it has no effect", unknown)
        del known[unknown]
    return known


def _refused_name(kind: str, settings: Mapping[str, Any]) -> str | None:
    """The first name that the client does not know."""
    ours = ("bootstrap.servers", "transactional.id", "auto.offset.reset")
    trial = {k: v for k, v in settings.items() if k not in ours}
    trial["log_level"] = 0
    if kind == "Consumer":
        trial.setdefault("group.id", "headrace")
    library = confluent()
    try:
        client = getattr(library, kind)(trial)
    except library.KafkaException as error:
        text = error.args[0].str()
        if found := _NO_SUCH.search(text):
            return found[1]
        raise GraphError(
            f"Kafka's client refuses a property: {text}; names and values are those of librdkafka "
            "where they differ from the Java client's"
        ) from error
    if kind == "Consumer":
        client.close()
    return None


def reached(settings: Mapping[str, Any]) -> dict[str, int]:
    """How many partitions each topic of a cluster has, as it answers within some seconds.

    Raises:
        KafkaError: It does not answer, or refuses the client.
    """
    library = confluent()
    servers = settings["bootstrap.servers"]
    outage = Outage(servers, "asking for topics", lambda text: None)
    consumer = library.Consumer({"group.id": "headrace", **settings, **outage.settings})
    try:
        topics = consumer.list_topics(timeout=_PROBE_TIMEOUT_S).topics
        return {name: len(t.partitions) for name, t in topics.items() if t.error is None}
    except library.KafkaException as error:
        consumer.poll(0)  # gives the client's errors to the outage
        outage.check()
        raise KafkaError(
            f"Kafka at {servers} cannot be reached ({error.args[0].str()}): start the broker, or "
            "correct bootstrap.servers"
        ) from error
    finally:
        consumer.close()


def is_outage(error: Any) -> bool:
    """Whether an error only says that brokers cannot be reached now."""
    codes = confluent().KafkaError
    return _is_election(error) or error.code() in {
        codes._ALL_BROKERS_DOWN,
        codes._TRANSPORT,
        codes._TIMED_OUT,
        codes._TIMED_OUT_QUEUE,
        codes._RESOLVE,
        codes.REQUEST_TIMED_OUT,
        codes.NETWORK_EXCEPTION,
        codes.BROKER_NOT_AVAILABLE,
    }


def _is_election(error: Any) -> bool:
    """Whether brokers are there and agree on one of them, as they do for a new group."""
    codes = confluent().KafkaError
    return error.code() in {
        codes._WAIT_COORD,
        codes.COORDINATOR_NOT_AVAILABLE,
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.NOT_COORDINATOR,
        codes.LEADER_NOT_AVAILABLE,
        codes.NOT_LEADER_FOR_PARTITION,
    }


class Outage:
    """Says once that brokers are away, and once that they are back.

    Its settings make a client tell it of errors; the client's own log is left out, which has a
    line for every attempt to connect.
    """

    def __init__(self, servers: str, what: str, say: Callable[[str], None] | None = None) -> None:
        self._servers = servers
        self._what = what
        self._say = say or _log.warning
        self._away = False
        self._since: float | None = None
        self.refused: Any = None
        """An error that waiting does not help against."""

    @property
    def settings(self) -> dict[str, Any]:
        """What to give to the client."""
        return {"error_cb": self.on_error, "log_level": 2, "log.connection.close": "false"}

    def on_error(self, error: Any) -> None:
        """Called by the client, from a poll."""
        codes = confluent().KafkaError
        if error.code() == codes._AUTHENTICATION or error.fatal():
            self.refused = error
        elif error.code() == codes._ALL_BROKERS_DOWN or (
            error.code() == codes._RESOLVE or error.code() == codes._TRANSPORT
        ):
            self.away(error)

    def away(self, error: Any) -> None:
        """Brokers cannot be reached. An election is not worth a word unless it takes long."""
        self._since = self._since or time.monotonic()
        if _is_election(error) and time.monotonic() - self._since < _ELECTION_S:
            return
        if not self._away:
            self._away = True
            self._say(
                f"{self._what}: Kafka at {self._servers} cannot be reached; waiting for it "
                f"({error.str()})"
            )

    def over(self) -> None:
        """A broker has answered."""
        self._since = None
        if self._away:
            self._away = False
            self._say(f"{self._what}: Kafka at {self._servers} is available again")

    def check(self) -> None:
        """Raise what waiting does not help against."""
        if self.refused is not None:
            raise KafkaError(f"{self._what}: Kafka at {self._servers}: {self.refused.str()}")
