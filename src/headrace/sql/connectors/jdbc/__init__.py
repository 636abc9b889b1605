"""The jdbc connector: tables of databases, scanned, looked up and written."""
