"""The SQL client: statements from a terminal, a file or the command line."""
