"""Orders of rows: how they are compared, ORDER BY, and rows that wait for their turn in time."""
