"""The mysql-cdc and postgres-cdc connectors: tables of databases with their changes."""
