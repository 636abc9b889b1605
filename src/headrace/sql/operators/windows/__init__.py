"""Windows: tumbling, hopping, cumulating, of sessions and of counts of rows."""
