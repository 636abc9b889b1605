"""OVER: a result for each row, from the rows around it."""
