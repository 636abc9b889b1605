"""Sources and sinks, and the interfaces to write your own."""

from headrace.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
