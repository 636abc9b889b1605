"""What both ends need of a Pulsar cluster: clients, and the few questions that only admins answer.

The binary protocol says nothing of subscriptions, patterns of topics and deduplication, so these
are asked of the broker's REST API, as Flink's connector does.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from headrace.common.config_options import ConfigOption
from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.datastream.connectors.client_library import client_library

__all__ = [
    "EARLIEST",
    "LATEST",
    "Position",
    "PulsarService",
    "ServiceBuilder",
    "position_of",
    "pulsar",
]

_ADMIN_TIMEOUT_S = 30.0
_TOPIC = re.compile(r"(?:(persistent|non-persistent)://)?(?:([^/]+)/([^/]+)/)?([^/]+)")
B = TypeVar("B", bound="ServiceBuilder")

Position = tuple[int, int, int]
"""Ledger, entry, and place in a batch (-1 without one): in the order of a topic."""
EARLIEST: Position = (-1, -1, -1)
LATEST: Position = (2**63 - 1, 2**63 - 1, -1)


def pulsar() -> Any:
    """The client library."""
    return client_library("pulsar", "pulsar-client", "pulsar")


def position_of(found: Any) -> Position:
    """The position of a message, by its id: an object of the library, or its bytes."""
    if isinstance(found, bytes):
        try:
            found = pulsar().MessageId.deserialize(found)
        except ValueError as error:
            raise FunctionTypeError(
                f"these are not the bytes of a message id: {found!r}"
            ) from error
    return found.ledger_id(), found.entry_id(), found.batch_index()


@dataclass(frozen=True)
class PulsarService:
    """Where a cluster is, who we are there, and settings of Flink's connector."""

    service_url: str = ""
    admin_url: str = ""
    authentication: tuple[str, str] | None = None
    config: dict[str, str] = field(default_factory=dict)

    def client(self) -> Any:
        """A new client; the caller closes it."""
        library = pulsar()
        who = None if self.authentication is None else library.Authentication(*self.authentication)
        return library.Client(
            self.service_url,
            authentication=who,
            operation_timeout_seconds=self.number("pulsar.client.operationTimeoutMs", 30_000)
            // 1_000,
            connection_timeout_ms=self.number("pulsar.client.connectionTimeoutMs", 10_000),
            tls_trust_certs_file_path=self.config.get("pulsar.client.tlsTrustCertsFilePath"),
            tls_allow_insecure_connection=self.flag("pulsar.client.tlsAllowInsecureConnection"),
            # What it says at other levels is about its own connections.
            logger=library.ConsoleLogger(library.LoggerLevel.Error),
        )

    def number(self, key: str, default: int) -> int:
        """A setting."""
        return int(self.config.get(key, default))

    def flag(self, key: str) -> bool:
        """A setting that is off unless it is set."""
        return self.config.get(key, "false").lower() == "true"

    def partitions(self, topics: tuple[str, ...]) -> list[str]:
        """The full names of all partitions; a topic without any is its own."""
        client = self.client()
        try:
            found = [p for t in topics for p in client.get_topic_partitions(full_name(t))]
            return sorted(set(found))
        except pulsar().PulsarException as error:
            raise self.unreachable(error) from error
        finally:
            client.close()

    def unreachable(self, error: Exception) -> HeadraceError:
        """An error of the client, with what to look at."""
        return HeadraceError(
            f"Pulsar at {self.service_url} does not answer: {type(error).__name__}: {error}; see "
            "whether it runs there, and whether the topics and the authentication are right"
        )

    # What admins may ask.

    def topics_like(self, pattern: str) -> list[str]:
        """Topics whose full names match; those with partitions once."""
        kind, tenant, namespace, name = _parts(pattern)
        wanted = re.compile(f"{kind}://{re.escape(tenant)}/{re.escape(namespace)}/{name}")
        place = f"{kind}/{_quoted(tenant)}/{_quoted(namespace)}"
        found = {*(self._ask(place) or ()), *(self._ask(f"{place}/partitioned") or ())}
        plain = {re.sub(r"-partition-\d+$", "", topic) for topic in found}
        return sorted(
            t for t in plain if wanted.fullmatch(t) and not t.split("/")[-1].startswith("__")
        )

    def subscribed_at(self, topic: str, subscription: str) -> Position | None:
        """The last position that a subscription has behind it; None if there is none such."""
        stats = self._ask(f"{_path(topic)}/internalStats")
        cursor = (stats or {}).get("cursors", {}).get(subscription)
        if cursor is None:
            return None
        ledger, entry = map(int, cursor["markDeletePosition"].split(":"))
        # All of a batch is behind it.
        return ledger, entry, 2**31 - 1

    def place(self, topic: str, subscription: str, at: Position | int) -> None:
        """Let a subscription go on at a message, or at what was published at a time.

        A consumer could seek that, but may then give what it has received before that.
        """
        path = f"{_path(topic)}/subscription/{_quoted(subscription)}"
        if isinstance(at, int):
            self._ask(f"{path}/resetcursor/{at}", "POST")
        else:
            self._ask(f"{path}/resetcursor", "POST", _message_id(at))

    def subscribe(self, topic: str, subscription: str, at: Position) -> None:
        """Make a subscription."""
        path = f"{_path(topic)}/subscription/{_quoted(subscription)}"
        self._ask(path, "PUT", _message_id(at))

    def deduplicates(self, topic: str) -> bool:
        """Whether the broker drops messages of a topic that a producer sends again."""
        return bool(self._ask(f"{_path(topic)}/deduplicationEnabled?applied=true"))

    def _ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """The answer to a question; None if what it is about is not there."""
        url = f"{self.admin_url.rstrip('/')}/admin/v2/{path}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **self._headers()}
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_ADMIN_TIMEOUT_S) as answer:
                body = answer.read()
                return json.loads(body) if body else None
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            said = error.read()[:300].decode(errors="replace")
            raise HeadraceError(
                f"Pulsar answers {url} with {error.code}: {said}; see whether set_admin_url() is "
                "the broker's HTTP address and set_authentication() may ask it"
            ) from error
        except OSError as error:
            raise HeadraceError(
                f"Pulsar's HTTP address {self.admin_url} does not answer: {error}; see whether "
                "set_admin_url() is right, such as http://localhost:8080"
            ) from error

    def _headers(self) -> dict[str, str]:
        plugin, parameters = self.authentication or ("", "")
        if plugin.rpartition(".")[2] in ("AuthenticationToken", "token"):
            return {"Authorization": f"Bearer {parameters.removeprefix('token:')}"}
        return {}


def _message_id(position: Position) -> dict[str, int]:
    ledger, entry, _ = position
    return {"ledgerId": ledger, "entryId": entry, "partitionIndex": -1}


def full_name(topic: str) -> str:
    """A topic with its kind, tenant and namespace."""
    kind, tenant, namespace, name = _parts(topic)
    return f"{kind}://{tenant}/{namespace}/{name}"


def _parts(topic: str) -> tuple[str, str, str, str]:
    matched = _TOPIC.fullmatch(topic)
    if matched is None:
        raise GraphError(
            f"a topic is 'name' or 'persistent://tenant/namespace/name', not {topic!r}"
        )
    kind, tenant, namespace, name = matched.groups()
    return kind or "persistent", tenant or "public", namespace or "default", name


def _path(topic: str) -> str:
    kind, tenant, namespace, name = _parts(topic)
    return f"{kind}/{_quoted(tenant)}/{_quoted(namespace)}/{_quoted(name)}"


def _quoted(part: str) -> str:
    return urllib.parse.quote(part, safe="")


class ServiceBuilder:
    """The methods that the builders of source and sink share."""

    def __init__(self) -> None:
        self._service = PulsarService()
        self._topics: tuple[str, ...] = ()

    def set_service_url(self: B, service_url: str) -> B:
        """Set the address of the brokers, such as `pulsar://localhost:6650`."""
        self._service = replace(self._service, service_url=service_url)
        return self

    def set_admin_url(self: B, admin_url: str) -> B:
        """Set the HTTP address of the brokers, such as `http://localhost:8080`."""
        self._service = replace(self._service, admin_url=admin_url)
        return self

    def set_topics(self: B, topics: str | list[str]) -> B:
        """Set topics, or single partitions of them (`orders-partition-3`)."""
        given = (topics,) if isinstance(topics, str) else tuple(topics)
        if not given or not all(isinstance(t, str) for t in given):
            raise FunctionTypeError(f"set_topics takes names of topics, not {topics!r}")
        self._topics = tuple(map(full_name, given))
        return self

    def set_authentication(
        self: B, auth_plugin_class_name: str, auth_params_string: str | dict[str, str]
    ) -> B:
        """Set who the job is.

        Args:
            auth_plugin_class_name: A class of Java as in Flink, of which the Python client has its
                own: those of `org.apache.pulsar.client.impl.auth` for tokens, TLS, OAuth 2 and
                names with passwords.
            auth_params_string: Its parameters: `key:value,key:value`, or a dict.
        """
        if isinstance(auth_params_string, Mapping):
            auth_params_string = ",".join(f"{k}:{v}" for k, v in auth_params_string.items())
        who = (auth_plugin_class_name, auth_params_string)
        self._service = replace(self._service, authentication=who)
        return self

    def set_config(self: B, key: str | ConfigOption[Any], value: Any) -> B:
        """Set an option of Flink's connector; those of its Java client alone have no effect."""
        return self.set_properties({key.key if isinstance(key, ConfigOption) else key: value})

    def set_properties(self: B, config: dict[str, Any]) -> B:
        """Set several options."""
        given = {key: _text(value) for key, value in config.items()}
        for key, value in given.items():
            if not key.startswith("pulsar."):
                raise GraphError(f"options of Pulsar's connector begin with 'pulsar.', not {key!r}")
            if key in self._service.config and self._service.config[key] != value:
                raise GraphError(f"the option {key!r} is set twice, to different values")
        self._service = replace(self._service, config={**self._service.config, **given})
        return self

    def _checked(self, who: str) -> PulsarService:
        service = self._service
        # It says how to install the client, where that is missing.
        pulsar()
        if not re.match(r"pulsar(\+ssl)?://|https?://", service.service_url):
            raise GraphError(
                f"{who} needs set_service_url('pulsar://host:6650'), and has "
                f"{service.service_url or 'none'}"
            )
        if not re.match(r"https?://", service.admin_url):
            raise GraphError(
                f"{who} needs set_admin_url('http://host:8080'), and has "
                f"{service.admin_url or 'none'}"
            )
        return service


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
