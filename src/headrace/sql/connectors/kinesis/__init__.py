"""The kinesis and firehose connectors: data streams as tables."""
