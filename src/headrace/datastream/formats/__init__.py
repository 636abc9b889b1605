"""Formats of records: as bytes in messages, and as the contents of files."""
