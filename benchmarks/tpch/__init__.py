"""TPC-H: 22 queries over eight tables of a trade, in batch mode."""
