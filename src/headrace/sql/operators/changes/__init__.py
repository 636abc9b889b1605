"""Changelogs: from one kind of changes to another, and what a sink asks of its rows."""
