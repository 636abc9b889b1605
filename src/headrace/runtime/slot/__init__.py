"""The process of a slot: how it starts, what is said to it, and what can be asked of it."""
