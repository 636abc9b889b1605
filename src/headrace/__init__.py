"""headrace: stateful stream processing with the model of Apache Flink, carried by Spark."""

from __future__ import annotations

__version__ = "0.1.0"
