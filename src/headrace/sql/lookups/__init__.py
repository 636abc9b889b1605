"""Tables that a lookup join asks for the rows of keys: what a slot runs of them."""
