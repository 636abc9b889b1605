"""The job master, its attempts, and the decisions that it makes on the way."""
