"""Apache Pulsar as a source and a sink.

It needs the package pulsar-client: `pip install 'headrace[pulsar]'`.
"""

from headrace.datastream.connectors.pulsar.cursors import (
    RangeGenerator,
    StartCursor,
    StopCursor,
)
from headrace.datastream.connectors.pulsar.sink import (
    MessageDelayer,
    PulsarSink,
    PulsarSinkBuilder,
    TopicRoutingMode,
)
from headrace.datastream.connectors.pulsar.source import PulsarSource, PulsarSourceBuilder

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]
