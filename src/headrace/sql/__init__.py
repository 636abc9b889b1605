"""SQL: text to a stream plan, and the operators that the plan is made of.

`dialect` and `statements` read text, `binder` gives names and types to what was read, `plan` and
`rules` hold relational nodes and what is done to them, `codegen` makes Python code of expressions,
`operators` work in slots. `headrace.table` is the public face. Nothing is imported here: a slot
loads the operators without the parser.
"""
