"""Python code for expressions: one code object for a whole projection, filter or aggregation."""
