"""Jars that a Flink program asks for: what they bring, headrace may have in Python."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from headrace.common.errors import ConfigurationError

__all__ = ["accept_jars"]

logger = logging.getLogger(__name__)

_BROUGHT = (
    (r"kafka", "the Kafka connector: pip install 'headrace[kafka]'"),
    (r"rabbitmq|amqp-client", "the RabbitMQ connector: pip install 'headrace[rabbitmq]'"),
    (r"kinesis|firehose", "the Kinesis connectors: pip install 'headrace[kinesis]'"),
    (r"elasticsearch|opensearch", "the Elasticsearch and OpenSearch sinks"),
    (r"cassandra", "the Cassandra sink: pip install 'headrace[cassandra]'"),
    (r"pulsar", "the Pulsar connector: pip install 'headrace[pulsar]'"),
    (r"mongo", "the MongoDB connector: pip install 'headrace[mongodb]'"),
    (r"jdbc|postgresql|mysql|mariadb|sqlite|derby|ojdbc|sqljdbc", "the JDBC connector"),
    (r"parquet|flink-orc|avro|flink-csv|flink-json|hadoop", "files of that format"),
    (r"(s3|gs|azure|oss)-fs", "file systems by URL, through fsspec"),
    (r"flink-(files|sql-gateway|sql-client|python|table|streaming|statebackend)", "a part of it"),
)
"""What the name of a jar says that it brings, and what headrace has for it."""


def accept_jars(jars: Iterable[str]) -> None:
    """Log a line for each jar that brings something that headrace has itself.

    Raises:
        ConfigurationError: A jar brings something else, which nothing here would replace.
    """
    for jar in jars:
        name = unquote(urlsplit(jar).path).rpartition("/")[2]
        for pattern, own in _BROUGHT:
            if re.search(pattern, name, re.IGNORECASE):
                logger.info("%s is not loaded: headrace has %s", name, own)
                break
        else:
            raise ConfigurationError(
                f"{jar} is a jar, and headrace has nothing in its place: it runs no Java. Remove "
                "it if the program does not need it; connectors and functions can be written in "
                "Python",
                key="pipeline.jars",
            )
