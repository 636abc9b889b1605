"""What user functions are given: a context, a part in checkpoints, a way out for bad records."""
