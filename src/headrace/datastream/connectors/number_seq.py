"""A source of numbers, at the place where PyFlink has it."""

from headrace.datastream.connectors.collection import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
