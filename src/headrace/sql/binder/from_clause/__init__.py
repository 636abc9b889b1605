"""What stands in FROM: tables, joins, subqueries, patterns, and functions that give tables."""
