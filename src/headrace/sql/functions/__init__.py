"""The functions of SQL and the Table API.

`registry` says how one is declared, the modules beside it declare them by their kind, and `builtin`
has the implementations that generated code calls. Nothing is imported here: a slot needs only some
of `builtin`.
"""
