"""Models: who provides them, and what a slot runs of them."""

# The binder binds ML_PREDICT and imports this package, whose modules import the binder's names: it
# must come first.
from headrace.sql import binder as _binder  # noqa: F401
