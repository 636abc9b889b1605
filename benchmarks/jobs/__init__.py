"""Scripts that are started as a user would start them, to measure the time to a first result."""
