"""What is refused when a statement is planned, and what EXPLAIN warns of."""
