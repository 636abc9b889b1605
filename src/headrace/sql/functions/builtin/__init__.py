"""Implementations of built-in functions: plain functions of internal values, called in slots.

They are called with values that are not NULL, unless the function is declared as not strict.
"""
