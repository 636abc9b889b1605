"""Parts of plans that Spark's JVM runs: which ones, and their text in Spark's SQL.

Spark calculates on headrace's internal values (times are microseconds), so what comes out needs no
conversion. A function is translated only where Spark's result equals Flink's for every input.
"""
