"""Benchmarks against bare PySpark loops, PyFlink and Bytewax: ``python -m benchmarks``."""
