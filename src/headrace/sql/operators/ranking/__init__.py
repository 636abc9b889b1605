"""The first or last rows of each key: Top-N and deduplication."""
