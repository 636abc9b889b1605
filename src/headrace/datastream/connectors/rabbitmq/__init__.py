"""Queues of RabbitMQ. It needs pika: `pip install 'headrace[rabbitmq]'`."""

from headrace.datastream.connectors.rabbitmq.connection import RMQConnectionConfig
from headrace.datastream.connectors.rabbitmq.sink import RMQSink
from headrace.datastream.connectors.rabbitmq.source import RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
