"""Operators on rows, one module for each; they run in slots and know nothing of the parser."""
