"""GROUP BY without windows: accumulators for each key."""
