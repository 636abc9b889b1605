"""Jars that a Flink program asks for: what they bring, headrace may have in Python."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import unquote, urlsplit

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
    (
        r"flink-(connector-(base|files)|files|sql-gateway|sql-client|python|table|streaming|statebackend)",
        "a part of it",
    ),
)
"""What the name of a jar says that it brings, and what headrace has for it."""


def accept_jars(jars: Iterable[str]) -> None:
    """Log a line for each jar, because none is loaded: what stands for it, or a warning.

    What a program takes from a jar that nothing stands for, such as a Java class or a connector, it
    names somewhere, and is refused there. Jars of AWS, for instance, have whatever a program may
    need, and mostly more than it does.
    """
    for jar in jars:
        _tell(unquote(urlsplit(jar).path).rpartition("/")[2])


@cache
def _tell(name: str) -> None:
    """Log a line, once for each jar: jobs of one program have the same ones."""
    for pattern, own in _BROUGHT:
        if re.search(pattern, name, re.IGNORECASE):
            logger.info("%s is not loaded: headrace has %s", name, own)
            return
    logger.warning(
        "%s is not loaded: headrace runs no Java. Connectors of Flink that headrace has need no "
        "jar; others, and functions, can be written in Python",
        name,
    )
