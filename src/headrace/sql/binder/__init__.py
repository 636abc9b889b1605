"""Gives names and types to what was read: syntax in, relational nodes and expressions out."""
