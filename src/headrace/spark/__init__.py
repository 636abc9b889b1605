"""Carries jobs on Apache Spark. This package is the only one that imports `pyspark`."""
