"""Methods of expressions, by the values that they are for."""
