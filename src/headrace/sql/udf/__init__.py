"""Users' functions: how they are bound to types, and how they run in slots."""
