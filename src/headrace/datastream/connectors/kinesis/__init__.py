"""Amazon Kinesis: data streams as sources and sinks, Firehose as a sink.

It needs boto3: `pip install 'headrace[kinesis]'`.
"""

from headrace.datastream.connectors.kinesis.shards import KinesisShardAssigner
from headrace.datastream.connectors.kinesis.sinks import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from headrace.datastream.connectors.kinesis.source import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    WatermarkTracker,
)

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]
