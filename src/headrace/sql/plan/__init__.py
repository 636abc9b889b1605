"""Relational nodes, and what is known about them: their columns and their changelog."""
