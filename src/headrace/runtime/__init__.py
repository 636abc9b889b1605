"""What runs inside a slot: operators, batches, conversion of values. Knows nothing of Spark."""
