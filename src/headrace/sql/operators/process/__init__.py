"""The operator of process table functions."""
