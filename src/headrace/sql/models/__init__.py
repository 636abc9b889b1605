"""Models: who provides them, and what a slot runs of them."""
