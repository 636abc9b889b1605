"""Fetch the servers that tests start and that take minutes to get on a fresh machine.

    python -m tools.fetch_servers

Tests fetch what is missing by themselves, but each holds up a process that could run others. This
needs nothing but Python, so CI calls it before anything is installed. What cannot be had is no
error here: the tests say what is missing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tools.cassandra_server import CassandraServer
from tools.database_server import DatabaseUnavailableError
from tools.elasticsearch_server import ElasticsearchServer
from tools.kafka_broker import KafkaUnavailableError, broker_jars
from tools.mongodb_server import FerretDbServer
from tools.pulsar_broker import PulsarBroker

_BY_MAVEN: dict[str, Callable[[], object]] = {
    "Kafka": broker_jars,
    "Pulsar": PulsarBroker.programs,
    "Cassandra": CassandraServer.programs,
    "Elasticsearch": ElasticsearchServer.programs,
}
_BY_GO: dict[str, Callable[[], object]] = {"FerretDB": FerretDbServer.programs}


def fetch(servers: dict[str, Callable[[], object]]) -> None:
    """One after the other, in the order in which tests need them."""
    for name, get in servers.items():
        began = time.monotonic()
        try:
            get()
        except (DatabaseUnavailableError, KafkaUnavailableError) as error:
            print(f"{name} cannot be fetched: {error}", file=sys.stderr)
            continue
        if (took := time.monotonic() - began) > 1:
            print(f"{name} was fetched in {took:.0f} s", file=sys.stderr)


def main() -> None:
    # Maven's runs share a repository; Go takes processor time while they wait for the network.
    with ThreadPoolExecutor() as pool:
        list(pool.map(fetch, (_BY_MAVEN, _BY_GO)))


if __name__ == "__main__":
    main()
