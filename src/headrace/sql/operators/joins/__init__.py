"""Joins, one module for each kind: which rows of two or more inputs belong together."""
